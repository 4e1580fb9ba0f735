# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer.testing import CliRunner

from stretto.bench.job import measuring_job
from stretto.bench.targets import local_target
from stretto.cli.export import export
from stretto.launch import mpi
from stretto.launch.run import build_command
from stretto.launch.settings import open_mpi
from stretto.launch.settings.library import library_settings
from stretto.launch.settings.mpich import find_mpich, own_tree
from stretto.launch.settings.rules import PATH, LibrarySettings, Rule, RuleSet
from stretto.launch.settings.tables import chosen_rules, measured_rules
from stretto.support.errors import StrettoError

if TYPE_CHECKING:
    from tests.python.conftest import Runner

RANKS = 5
RULES = (Rule(0, None), Rule(64000, "ring", 1.2), Rule(1 << 20, "basic_linear", 1.1))
ONE = RuleSet("allreduce", 1, RANKS, RANKS, RULES)

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(export)


def table(
    library: str, rows: list[dict[str, Any]], noted: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    shape = {"nodes": 1, "ppn": RANKS}
    notes = {"library": [shape | {"collective": "allreduce", "rows": noted}]} if noted else {}
    text = {"format": "stretto-table", "version": 1, "mpi": library}
    return text | {"shapes": [shape | {"allreduce": rows}], "notes": notes}


def write(path: Path, *arguments: Any) -> Path:
    path.write_text(json.dumps(table(*arguments)))
    return path


def run(*arguments: str) -> dict[str, str]:
    """The variables that the command prints."""
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0
    lines = [line for line in done.output.splitlines() if line.startswith("export ")]
    return dict(line.removeprefix("export ").split("=", 1) for line in lines)


def numbers(text: str) -> list[list[int]]:
    return [[int(word) for word in line.split("#")[0].split()] for line in text.splitlines()]


def test_rules_for_open_mpi_are_for_these_communicators_only() -> None:
    settings = library_settings("openmpi", "Open MPI 4.1.4", [ONE], None)
    assert numbers(settings.files[""]) == [
        [1], [2], [3],
        [1], [1], [0, 0, 0, 0],
        [5], [3], [0, 0, 0, 0], [64000, 4, 0, 0], [1 << 20, 1, 0, 0],
        [6], [1], [0, 0, 0, 0],
    ]  # fmt: skip
    assert settings.variables["OMPI_MCA_coll_tuned_use_dynamic_rules"] == "1"
    assert list(settings.files) == [""]


def test_open_mpi_5_with_several_ranks_a_node_is_told_twice() -> None:
    rules = (Rule(0, None), Rule(64000, "segmented_ring:segment_bytes=64KiB"))
    several = RuleSet("allreduce", 4, 2, 8, rules)
    settings = library_settings("openmpi", "Open MPI 5.0.11", [several], None)
    assert [64000, 5, 0, 65536] in numbers(settings.files[""])
    assert "0 han\n64000 tuned\n" in settings.files[".han"]
    assert settings.variables["OMPI_MCA_coll_han_dynamic_rules_filename"].endswith(".han")
    alone = library_settings("openmpi", "Open MPI 5.0.11", [RuleSet("allreduce", 8, 1, 8, rules)], None)
    assert ".han" not in alone.files


def test_what_a_library_cannot_tell_apart_is_left_out() -> None:
    other = RuleSet("allreduce", 5, 1, RANKS, RULES)
    settings = library_settings("openmpi", "Open MPI 4.1.4", [ONE, other], None)
    assert not settings.variables
    assert any("choose one by --nodes and --ppn" in remark for remark in settings.remarks)
    calls = library_settings("openmpi", "Open MPI 4.1.4", [RuleSet("iallreduce", 1, 5, 5, RULES)], None)
    assert not calls.variables
    unknown = library_settings(
        "openmpi", "Open MPI 4.1.4", [RuleSet("bcast", 1, 5, 5, (Rule(0, "new"),))], None
    )
    assert "number of new is not known" in unknown.remarks[0]


def test_intel_mpi_gets_a_list_that_leaves_nothing_open() -> None:
    rules = (Rule(0, "1", 1.1), Rule(65536, "8", 0.99))
    one = RuleSet("allreduce", 8, 1, 8, rules)
    settings = library_settings("intelmpi", "Intel MPI 2021.19", [one], None)
    assert settings.variables == {"I_MPI_ADJUST_ALLREDUCE": "1:0-65535;8:65536-2147483647"}
    for worse in (Rule(65536, "8", 0.9), Rule(65536, None)):
        one = RuleSet("allreduce", 8, 1, 8, (rules[0], worse))
        settings = library_settings("intelmpi", "Intel MPI 2021.19", [one], None)
        assert not settings.variables
        assert "from 65536 bytes on the MPI default is better" in settings.remarks[0]


@pytest.mark.parametrize("call", ["alltoall", "gather", "scatter", "scan", "exscan"])
def test_only_collectives_whose_size_a_library_counts_as_we_do_get_rules(call: str) -> None:
    one = RuleSet(call, 1, RANKS, RANKS, (Rule(0, None), Rule(64000, "pairwise", 1.2)))
    open_mpis = library_settings("openmpi", "Open MPI 4.1.4", [one], None)
    assert bool(open_mpis.variables) == (call == "alltoall")
    if open_mpis.variables:
        assert numbers(open_mpis.files[""])[1] == [3]
        assert [64000, 2, 0, 0] in numbers(open_mpis.files[""])
    assert not library_settings("intelmpi", "Intel MPI 2021.19", [one], None).variables


def test_mpichs_own_tree_stays_for_what_it_cannot_decide_by_size() -> None:
    rules = (Rule(0, None), Rule(64000, "pairwise", 1.2))
    sets = [RuleSet(call, 1, RANKS, RANKS, rules) for call in ("alltoall", "scan", "gather")]
    settings = library_settings("mpich", version_of("mpich"), sets, find_mpich(version_of("mpich")))
    tree = json.loads(settings.files[""])
    branch = tree["collective=alltoall"]["comm_type=intra"][f"comm_size<={RANKS}"]
    assert branch["is_sendbuf_inplace=no"]["total_msg_size=any"] == {
        "algorithm=MPIR_Alltoall_intra_pairwise": {}
    }
    own = own_tree(find_mpich(version_of("mpich")))
    assert branch["is_sendbuf_inplace=yes"] == own["collective=alltoall"]["comm_type=intra"]
    assert all(tree.get(f"collective={call}") == own.get(f"collective={call}") for call in ("scan", "gather"))
    assert sum("no rules by size" in remark for remark in settings.remarks) == 2


def test_rules_come_from_notes_or_rows() -> None:
    rows = [{"from": 0, "spec": "native"}, {"from": "64KiB", "spec": "native", "library": "ring", "gain": 2}]
    (chosen,) = chosen_rules(table("Open MPI 4.1.4", rows))
    assert chosen == RuleSet("allreduce", 1, RANKS, RANKS, (Rule(0, None), Rule(65536, "ring")))
    noted = [{"from": 0, "algorithm": "linear", "gain": 1.5}]
    (measured,) = measured_rules(table("Open MPI 4.1.4", rows, noted))
    assert measured.rules == (Rule(0, "linear", 1.5),)
    rows = [{"from": "64KiB", "to": "1MiB", "spec": "native", "library": "ring"}]
    (bounded,) = chosen_rules(table("Open MPI 4.1.4", rows))
    assert [(rule.begin, rule.algorithm) for rule in bounded.rules] == [
        (0, None), (65536, "ring"), ((1 << 20) + 1, None),
    ]  # fmt: skip
    intel = library_settings("intelmpi", "Intel MPI 2021.19", [bounded], None)
    assert intel.variables == {"I_MPI_ADJUST_ALLREDUCE": "ring:0-2147483647"}
    assert "messages that were not measured" in intel.remarks[0]
    with pytest.raises(StrettoError, match=r"notes\.library was edited"):
        measured_rules(table("Open MPI 4.1.4", rows, [{"form": 0}]))


@pytest.mark.parametrize(
    ("library", "to", "rows", "message"),
    [
        ("Open MPI 4.1.4", "mpich", [{"from": 0, "spec": "native", "library": "x"}], "is for Open MPI 4.1.4"),
        ("Open MPI 4.1.4", "lam", [{"from": 0, "spec": "native", "library": "x"}], "expected openmpi, mpich"),
        ("Open MPI 4.1.4", "openmpi", [{"from": 0, "spec": "ring"}], "own algorithms was faster"),
        ("MPICH 9.9", "mpich", [{"from": 0, "spec": "native", "library": "x"}], "MPICH 9.9 was not found"),
        ("Open MPI 4.1.4", "openmpi", [{"from": 0, "spec": "rong"}], "rong"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    tmp_path: Path, library: str, to: str, rows: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(StrettoError, match=message):
        run("--to", to, str(write(tmp_path / "t.json", library, rows)))


def test_files_are_named_in_the_variables(tmp_path: Path) -> None:
    settings = LibrarySettings({"A": PATH, "B": f"{PATH}.han"}, {"": "x", ".han": "y"})
    assert settings.written(tmp_path / "f") == {"A": f"{tmp_path}/f", "B": f"{tmp_path}/f.han"}
    assert (tmp_path / "f.han").read_text() == "y"


# Real libraries without Stretto: the last bits of a sum show which algorithm was used.

NAMES = {"openmpi": "ring", "mpich": "binomial"}
# All allreduce algorithms of MPICH 4.0.2 add in the same order here; its reduce algorithms do not.
CALLS = {"openmpi": "allreduce", "mpich": "reduce"}
FORCED = {
    "openmpi": {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_allreduce_algorithm": "4"},
    "mpich": {"MPIR_CVAR_REDUCE_INTRA_ALGORITHM": "binomial"},
}
COUNTS = ("1000", "30000")  # below and above


def version_of(abi: str) -> str:
    launcher = mpi.identify(f"mpirun.{abi}")
    assert launcher is not None
    return f"{'Open MPI' if abi == 'openmpi' else 'MPICH'} {launcher.version}"


def sums(runner: Runner, variables: dict[str, str]) -> dict[str, str]:
    program = [str(runner.compiled("rounding.c")), *COUNTS]
    done = runner.run(program, ranks=RANKS, more={"LD_PRELOAD": "", **variables})
    assert done.code == 0, done.output
    lines = [line.split() for line in done.output.splitlines() if line.startswith(CALLS[runner.abi] + " ")]
    return {count: bits for _, count, bits in lines}


def own_table(path: Path, abi: str) -> Path:
    text = table(
        version_of(abi),
        [{"from": 0, "spec": "native"}, {"from": 64000, "spec": "native", "library": NAMES[abi]}],
    )
    shape = text["shapes"][0]
    shape[CALLS[abi]] = shape.pop("allreduce")
    path.write_text(json.dumps(text))
    return path


def test_the_library_takes_what_it_is_told(mpi: Runner, tmp_path: Path) -> None:
    usual, forced = sums(mpi, {}), sums(mpi, FORCED[mpi.abi])
    assert usual[COUNTS[1]] != forced[COUNTS[1]]
    told = sums(mpi, run("--to", mpi.abi, str(own_table(tmp_path / "t.json", mpi.abi))))
    assert told == {COUNTS[0]: usual[COUNTS[0]], COUNTS[1]: forced[COUNTS[1]]}


def test_stretto_run_tells_the_library(mpi: Runner, tmp_path: Path) -> None:
    environment = {
        "STRETTO_TABLE": str(own_table(tmp_path / "t.json", mpi.abi)),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    line = build_command([f"mpirun.{mpi.abi}", "-np", "1", "true"], environment)
    variable = (
        "OMPI_MCA_coll_tuned_dynamic_rules_filename" if mpi.abi == "openmpi" else "MPIR_CVAR_COLL_SELECTION"
    )
    assert any(word.startswith(variable) for word in line)
    assert len(list((tmp_path / "stretto").iterdir())) == 1
    for other in (FORCED[mpi.abi], {"STRETTO_TABLE": "none"}, {"STRETTO_TABLE": "/nowhere"}):
        line = build_command([f"mpirun.{mpi.abi}", "-np", "1", "true"], environment | other)
        assert not any(word.startswith(variable) for word in line)


def test_open_mpis_numbers_are_its_own() -> None:
    with measuring_job(local_target("openmpi", 1), ["blocking"], "float") as job:
        for collective, known in open_mpi.ALGORITHMS.items():
            names = job.ready.algorithms[collective]["blocking"]
            assert tuple(names) == known[: len(names)]
