# SPDX-License-Identifier: Apache-2.0
"""Checks specs that options name. Without the compiled module, Stretto's library checks them on rank 0."""

from __future__ import annotations

from stretto.spec.labels import STRETTO
from stretto.support.errors import StrettoError
from stretto.support.units import split_list


def check_spec(collective: str, spec: str) -> None:
    """Raise StrettoError, in one line, if the spec cannot be read or there is no such collective."""
    try:
        from stretto import _core  # noqa: PLC0415  `stretto run` works without the compiled module
    except ImportError:
        return
    if collective not in _core.collectives():
        known = ", ".join(_core.collectives())
        raise StrettoError(f"--spec {collective}/{spec}: there is no such collective; there are {known}")
    if spec != STRETTO:
        try:
            _core.parse_spec(spec, collective)
        except ValueError as error:
            raise StrettoError(str(error)) from None


def split_specs(text: str) -> list[str]:
    """The specs of a list with commas, each once and not checked. Raises StrettoError for an empty one."""
    specs = list(dict.fromkeys(spec.strip() for spec in split_list(text)))
    if not all(specs):
        raise StrettoError(f"--specs {text}: expected specs with single commas between, e.g. native,ring")
    return specs
