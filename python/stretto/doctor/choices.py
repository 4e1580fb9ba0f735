# SPDX-License-Identifier: Apache-2.0
"""What `stretto doctor` says about choices: which are in force, and what is known of networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.doctor.checks import Finding, Verdict
from stretto.spec.native import FAMILIES
from stretto.support.errors import StrettoError

if TYPE_CHECKING:
    from stretto.model.fabric_file import FabricFile


_MEANINGS = {
    "": (
        "decisions of earlier jobs on the network; otherwise the best spec by its model, if the first calls "
        "show that it is faster than the MPI default"
    ),
    "freeze": "decisions of earlier jobs on the network; the job measures nothing",
    "0": "the job ignores the findings of earlier jobs, and measures nothing",
}
"""What jobs do, by the value of STRETTO_ONLINE."""


def list_choices(environment: Mapping[str, str]) -> Iterator[Finding]:
    """What decides about a call, in the order in which it counts."""
    try:
        from stretto import _core  # noqa: PLC0415  its absence is another finding
    except ImportError:
        return
    settings = _core.JobSettings(dict(environment))
    if settings.is_disabled:
        yield Finding(Verdict.GOOD, "disabled", "the MPI library handles all calls (STRETTO_DISABLE=1)")
        return
    forced = ", ".join(f"{variable}={spec}" for variable, spec in settings.forced.items())
    yield _choice("forced", forced, "no variable forces a spec")
    yield _choice("table", ", ".join(_tables(environment)), "there is none")
    reason, online = settings.why_nothing_is_learnt, settings.online
    if reason:
        yield _choice("learnt, modelled", "", f"not used: {reason}")
    else:
        setting = f"STRETTO_ONLINE={online}" if online else "STRETTO_ONLINE is not set"
        verdict = Verdict.ABSENT if online == "0" else Verdict.GOOD
        yield Finding(verdict, "learnt, modelled", f"{setting}: {_MEANINGS[online]}")
    yield _choice("rule", "the built-in rule, where nothing above decides", "")


def _choice(source: str, in_force: str, otherwise: str) -> Finding:
    return Finding(Verdict.GOOD if in_force else Verdict.ABSENT, source, in_force or otherwise)


def _tables(environment: Mapping[str, str]) -> list[str]:
    from stretto import _core  # noqa: PLC0415  its absence is another finding

    setting = environment.get("STRETTO_TABLE", "")
    if setting:
        return [] if setting == "none" else [setting]
    paths = [_core.default_table_path(family) for family in FAMILIES]
    return [path for path in paths if path and Path(path).exists()]


def list_fabrics(environment: Mapping[str, str]) -> Iterator[Finding]:
    """What jobs have found out about networks, a finding for each file."""
    try:
        from stretto.model.fabric_file import (  # noqa: PLC0415  _core, whose absence is another finding
            NOTHING_KEPT,
            NOTHING_KNOWN,
            fabric_paths,
            read_fabric,
        )
    except ImportError:
        return
    if environment.get("STRETTO_FABRIC") == "none":
        yield Finding(Verdict.ABSENT, "no network", NOTHING_KEPT)
        return
    paths = fabric_paths(environment)
    if not paths:
        yield Finding(Verdict.ABSENT, "no network", f"there are no findings yet; {NOTHING_KNOWN}")
    for path in reversed(paths):
        try:
            yield Finding(Verdict.GOOD, str(path), _describe(read_fabric(path)))
        except StrettoError as error:
            detail = f"{str(error).removeprefix(f'{path}: ')}; jobs ignore this file and replace it"
            yield Finding(Verdict.ABSENT, str(path), detail)


def _describe(known: FabricFile) -> str:
    fabric, dates = known.fabric, known.dates
    about = [f"{fabric.mpi}, hosts {fabric.hosts}, {fabric.processor}"]
    if fabric.network:
        about.append(fabric.network if len(fabric.network) <= 100 else f"{fabric.network[:97]}...")
    about.append(known.speed_text)
    about += [text for text in (known.connections_text, known.busy_text, known.slow_links_text) if text]
    count = len(fabric.decisions)
    decided = f"{count} decision{'' if count == 1 else 's'}" if count else "no decision"
    when = f" of {dates[0]}" + (f" to {dates[1]}" if dates[0] != dates[1] else "") if dates else ""
    busy = sum(one.is_busy for one in fabric.decisions)
    doubtful = f", {busy} of them on a busy machine" if busy else ""
    return "; ".join([*about, decided + when + doubtful])
