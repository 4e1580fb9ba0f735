# SPDX-License-Identifier: Apache-2.0
"""LAMMPS, a molecular dynamics code of Debian's, computes the same melt with Stretto and without."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stretto import _core

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

RANKS = 4
STEPS = 150
# LAMMPS's own example, smaller: a crystal of atoms with Lennard-Jones forces melts.
MELT = f"""
units        lj
atom_style   atomic
lattice      fcc 0.8442
region       box block 0 6 0 6 0 6
create_box   1 box
create_atoms 1 box
mass         1 1.0
velocity     all create 3.0 87287 loop geom
pair_style   lj/cut 2.5
pair_coeff   1 1 1.0 1.0 2.5
neighbor     0.3 bin
neigh_modify every 20 delay 0 check no
fix          1 all nve
thermo       10
run          {STEPS}
"""
# What LAMMPS calls in a melt.
FORCED = {
    "allreduce": "ring:segments=3",
    "bcast": "chain:segments=2",
    "reduce": "binomial",
    "scan": "recursive_doubling",
}
TABLE = re.compile(r"^Step .*?(?=^Loop time)", re.MULTILINE | re.DOTALL)

Thermodynamics = list[list[str]]


@pytest.fixture(scope="module")
def melt(
    local_ranks: Callable[[str], LocalRanks], lammps: str, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Thermodynamics]:
    """Temperature, energies and pressure, step by step, as LAMMPS prints them."""
    script = tmp_path_factory.mktemp("melt") / "in.melt"
    script.write_text(MELT)

    def run(specs: Sequence[str] | None, stats: Path | None = None) -> Thermodynamics:
        program = [lammps, "-in", str(script), "-log", "none"]
        output = local_ranks("openmpi").run(RANKS, program, specs=specs, stats=stats)
        found = TABLE.search(output)
        assert found, output
        return [line.split() for line in found[0].splitlines()]

    return run


@pytest.fixture(scope="module")
def natively(melt: Callable[..., Thermodynamics]) -> Thermodynamics:
    """What comes out without Stretto: a crystal that is molten at the end."""
    table = melt(None)
    assert [line[0] for line in table] == ["Step", *map(str, range(0, STEPS + 1, 10))]
    temperature = [float(line[1]) for line in table[1:]]
    assert temperature[0] == 3
    assert 1.5 < temperature[-1] < 1.9
    return table


def test_melt_under_the_rule(
    melt: Callable[..., Thermodynamics], natively: Thermodynamics, tmp_path: Path
) -> None:
    assert melt((), tmp_path / "stats.json") == natively
    assert json.loads((tmp_path / "stats.json").read_text())["ranks"] == RANKS


def test_melt_by_strettos_algorithms(
    melt: Callable[..., Thermodynamics], natively: Thermodynamics, tmp_path: Path
) -> None:
    # Sums in another order have other last bits, which eight digits do not show.
    # Versions of LAMMPS differ in what they call: the other collectives are forced to their first algorithm.
    first = {one.collective: one.usual for one in reversed(_core.algorithms())}
    specs = [f"{collective}/{spec}" for collective, spec in (first | FORCED).items()]
    assert melt(specs, tmp_path / "stats.json") == natively
    calls = json.loads((tmp_path / "stats.json").read_text())["calls"]
    used = {(call["collective"], call["spec"]) for call in calls if call["bytes"] > 0}
    assert used >= FORCED.items(), calls
    assert "native" not in {spec for _, spec in used}, calls
