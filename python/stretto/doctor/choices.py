# SPDX-License-Identifier: Apache-2.0
"""What `stretto doctor` says about choices: which are in force, and what is known of networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.doctor.checks import Finding, Verdict
from stretto.launch.choices import forced_spec, online, variable_of, why_nothing_is_learnt
from stretto.spec.collectives import COLLECTIVES
from stretto.spec.native import FAMILIES
from stretto.support.errors import StrettoError

if TYPE_CHECKING:
    from stretto.model.fabric_file import FabricFile


def list_choices(environment: Mapping[str, str]) -> Iterator[Finding]:
    """What decides about a call, in the order in which it counts."""
    if environment.get("STRETTO_DISABLE") == "1":
        yield Finding(Verdict.GOOD, "disabled", "the MPI library handles all calls (STRETTO_DISABLE=1)")
        return
    names = dict.fromkeys(one.algorithms for one in COLLECTIVES.values())
    forced = {name: forced_spec(name, environment) for name in names}
    texts = [f"{name} by {spec} ({variable_of(name)})" for name, spec in forced.items() if spec]
    yield _choice("forced", ", ".join(texts), "no variable forces a spec")
    yield _choice("table", ", ".join(_tables(environment)), "there is none")
    reason = why_nothing_is_learnt(environment)
    setting = online(environment)
    if reason:
        yield _choice("learnt, modelled", "", f"not used: {reason}")
    else:
        in_force = f"{setting.setting}: {setting.meaning}"
        yield Finding(
            Verdict.GOOD if setting.uses_decisions else Verdict.ABSENT, "learnt, modelled", in_force
        )
    yield _choice("rule", "the built-in rule, where nothing above decides", "")


def _choice(source: str, in_force: str, otherwise: str) -> Finding:
    return Finding(Verdict.GOOD if in_force else Verdict.ABSENT, source, in_force or otherwise)


def _tables(environment: Mapping[str, str]) -> list[str]:
    setting = environment.get("STRETTO_TABLE", "")
    if setting:
        return [] if setting == "none" else [setting]
    try:
        from stretto import _core  # noqa: PLC0415  its absence is another finding
    except ImportError:
        return []
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
