# SPDX-License-Identifier: Apache-2.0
"""`stretto explain` names the spec that a job uses, whichever source decides, in every collective."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.python.interpose.jobs import mpi_name

from stretto.explain.choices import Claim, find_claims, read_job_table
from stretto.model.fabric_file import read_fabric
from stretto.model.walker import Call
from stretto.spec.native import NATIVE
from stretto.spec.topologies import parse_topology

if TYPE_CHECKING:
    from tests.python.conftest import Runner

__all__ = ["mpi_name"]

RANKS = 4
SIZE = 256 << 10
SEVERAL, SINGLE, SHARED = "nodes=4,ppn=1", "nodes=1,ppn=4", "nodes=2,ppn=2"
FORCED = {"STRETTO_ALLREDUCE": "ring:segments=3", "STRETTO_ALLGATHER": "native", "STRETTO_REDUCE": "chain"}
NOT_FITTING = {"STRETTO_ALLREDUCE": "multilane(swing)", "STRETTO_BCAST": "native", "STRETTO_SCAN": "chain"}


class Job:
    """Jobs of one MPI library on one topology, which keep what they find out in one file."""

    def __init__(self, mpi: Runner, mpi_name: str, folder: Path, topology: str) -> None:
        self._mpi = mpi
        self._mpi_name = mpi_name
        self._folder = folder
        self._topology = topology
        self.fabric = folder / "fabric.json"

    def used(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Runs a job that calls each collective once; returns the spec that carried each one out."""
        program = [str(self._mpi.compiled("every_collective.cpp")), str(SIZE)]
        stats = self._folder / "stats.json"
        where = {
            "STRETTO_TOPOLOGY": self._topology,
            "STRETTO_FABRIC": str(self.fabric),
            "STRETTO_TABLE": "none",
            "STRETTO_STATS": str(stats),
        }
        ran = self._mpi.run(program, ranks=RANKS, more={**where, **settings})
        assert ran.right, ran.output
        calls = json.loads(stats.read_text())["calls"]
        assert all(call["bytes_from"] == SIZE for call in calls), calls
        return {call["collective"]: call["spec"] for call in calls}

    def explained(self, collective: str, settings: Mapping[str, str]) -> Claim:
        """The claim that decides, as `stretto explain` says."""
        table = read_job_table(Path(settings.get("STRETTO_TABLE", "none")), "openmpi")
        call = Call(collective, SIZE, self._topology)
        claims = find_claims(call, table, settings, read_fabric(self.fabric))
        return next(claim for claim in claims if claim.decides)

    def write_fabric(self, **content: Any) -> None:
        """Begins a file of findings, unless jobs have begun one."""
        known = {"fabric": {"mpi": self._mpi_name, "network": "", "processor": "", "hosts": ""}}
        if self.fabric.exists():
            known = json.loads(self.fabric.read_text())
        head = {"format": "stretto-fabric", "version": 1, "decisions": []}
        self.fabric.write_text(json.dumps({**head, **known, **content}))

    def make_table(self, specs: Mapping[str, str]) -> str:
        topology = parse_topology(self._topology)
        shape = {"nodes": topology.nodes, "ppn": topology.max_ppn}
        rows = {collective: [{"from": 0, "spec": spec}] for collective, spec in specs.items()}
        file = self._folder / "table.json"
        head = {"format": "stretto-table", "version": 1, "mpi": self._mpi_name}
        file.write_text(json.dumps({**head, "shapes": [{**shape, **rows}]}))
        return str(file)

    def find_differences(self, settings: Mapping[str, str]) -> tuple[list[str], set[str]]:
        """Compares each call with what `explain` says of it; returns the differences and all sources.

        A choice of the rule that must first show what it is worth leaves the first call to the MPI default.
        """
        sources: set[str] = set()
        wrong: list[str] = []
        used = self.used(settings)
        assert len(used) == 10
        for collective, spec in used.items():
            claim = self.explained(collective, settings)
            is_presumed = claim.source == "rule" and claim.is_compared
            expected = NATIVE if is_presumed else claim.spec
            sources.add(claim.source)
            if spec != expected:
                wrong.append(f"{collective}: the job used {spec}, explained: {claim}")
        return wrong, sources


@pytest.fixture(params=[SEVERAL, SINGLE, SHARED])
def job(request: pytest.FixtureRequest, mpi: Runner, mpi_name: str, tmp_path: Path) -> Job:
    return Job(mpi, mpi_name, tmp_path, request.param)


@pytest.mark.parametrize("settings", [{}, {"STRETTO_REPRODUCIBLE": "1"}, {"STRETTO_SHM": "0"}])
def test_the_rule(job: Job, settings: dict[str, str]) -> None:
    job.write_fabric()
    wrong, sources = job.find_differences({"STRETTO_ONLINE": "0", **settings})
    assert (wrong, sources) == ([], {"rule"})


@pytest.mark.parametrize("settings", [FORCED, NOT_FITTING, {**FORCED, "STRETTO_REPRODUCIBLE": "1"}])
def test_what_is_forced_or_refused(job: Job, settings: dict[str, str]) -> None:
    job.write_fabric()
    wrong, sources = job.find_differences({"STRETTO_ONLINE": "0", **settings})
    assert (wrong, sources) == ([], {"forced", "rule"})


@pytest.mark.parametrize("online", ["0", "1", "freeze"])
def test_a_table(job: Job, online: str) -> None:
    job.write_fabric()
    specs = {
        "allreduce": "multilane",
        "bcast": "native",
        "allgather": "ring:segments=2",
        "alltoall": "linear",
    }
    table = job.make_table(specs)
    wrong, sources = job.find_differences({"STRETTO_ONLINE": online, "STRETTO_TABLE": table})
    assert wrong == []
    assert "table" in sources


def test_a_model_and_decisions(job: Job) -> None:
    """A first job measures the network, the next ones go by that, and by what duels have decided."""
    job.used({})
    wrong, sources = job.find_differences({})
    assert wrong == []
    assert "modelled" in sources or "learnt" in sources
    topology = parse_topology(job._topology)
    shape = {"nodes": topology.nodes, "ppn": topology.max_ppn, "from": SIZE, "seconds": 1, "bytes": SIZE}
    specs = {"allreduce": "ring:segments=2", "bcast": "chain:segments=2", "allgather": "native",
             "alltoall": "pairwise"}  # fmt: skip
    job.write_fabric(decisions=[{**shape, "call": call, "spec": spec} for call, spec in specs.items()])
    for online in ("freeze", "1"):
        wrong, sources = job.find_differences({"STRETTO_ONLINE": online})
        assert wrong == []
        assert {"learnt", "rule" if online == "freeze" else "modelled"} <= sources
        for collective, spec in specs.items():
            assert job.explained(collective, {"STRETTO_ONLINE": online}).spec == spec
