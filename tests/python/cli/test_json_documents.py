# SPDX-License-Identifier: Apache-2.0
"""--json prints one document, with the values of the table. Each command has an example."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from stretto.cli import profile, top
from stretto.cli.main import app
from stretto.lab import cluster
from stretto.show import algorithms, verdicts
from stretto.show.proof import Failure, Findings, Scope, StandIns
from stretto.spec.recipes import Recipe
from stretto.support.json_files import document_text
from stretto.support.units import (
    format_bandwidth,
    format_bytes,
    format_seconds,
    seconds_unit,
    size_text,
    three_digits,
)
from stretto.top.activity import Job, Now, RankActivity, Rates
from stretto.top.page import Count
from stretto.trace.files import read_folder

from .documents import Example, Printed, check_example, percent, refuse_constant, short_time
from .json_options import json_option
from .test_json_option import COMMANDS

if TYPE_CHECKING:
    from tests.python.conftest import MeasuringProgram

EXAMPLES: dict[str, list[Example]] = {
    "stretto algorithms": [
        Example(
            "algorithms --collective bcast --json", "stretto-algorithms", "algorithms",
            lambda row: [row["pattern"], row["description"]],
        ),
        Example(
            "algorithms --collective reduce --table --topology nodes=2,ppn=3 --json",
            "stretto-costs", "costs",
            lambda row: [
                f"`{row['recipe']}`", str(row["rounds"]), str(row["depth"]),
                str(row["to_other_nodes"]["messages"]), str(row["within_node"]["messages"]),
                *(
                    algorithms.multiple(row[name]["message_multiple"])
                    for name in ("to_other_nodes", "link", "within_node")
                ),
                "yes" if row["keeps_rank_order"] else "no", "yes" if row["fixed_tree"] else "no",
            ],
        ),
        Example(
            "algorithms --nap --json", "stretto-crossings", "crossings",
            lambda row: [str(row["nodes"]), str(row["ppn"]), *map(str, row["messages"].values())],
            "few_nodes",
        ),
    ],
    "stretto verify": [
        Example(
            "verify ring --ranks 1..3 --topologies 2 --json", "stretto-verdicts", "verdicts",
            lambda row: [
                f"{row['collective']} {row['recipe']}: {'proven' if row['proven'] else 'WRONG'}"
            ],
        )
    ],
    "stretto show": [
        Example(
            "show ring --ranks 3 --json", "stretto-schedule", "messages",
            lambda row: [f"→{row['receiver']} b{row['sent']['first']}"],
        )
    ],
    "stretto lab status": [
        Example(
            "lab status --json", "stretto-labs", "labs",
            lambda row: [f"{row['name']}:", row["error"]] if row["error"] else [
                f"{row['name']}: {len(row['links']['rates'])} node", row["links"]["rates"][0],
                "incomplete" if row["abandoned"] else f"{row['processes']} processes",
            ],
            "labs",
        )
    ],
    "stretto doctor": [
        Example(
            "doctor --json", "stretto-doctor", "findings",
            lambda row: ["ok" if row["verdict"] == "good" else "", row["what"], row["detail"]],
        ),
        Example("doctor --json", "stretto-doctor", "choice", lambda row: [row["what"], row["detail"]]),
        Example(
            "doctor --json -- sh", "stretto-doctor-program", "findings",
            lambda row: ["ok" if row["verdict"] == "good" else "", row["what"], row["detail"]],
        ),
        Example(
            "doctor --json -- mpirun.mpich -np 1", "stretto-doctor-program", "nodes/findings",
            lambda row: ["ok" if row["verdict"] == "good" else "", row["what"], row["detail"]],
        ),
        Example("doctor --lines slurm --json", "stretto-lines", "groups", lambda row: [row["use"]]),
        Example("doctor --lines containers --json", "stretto-lines", "groups/lines", lambda row: [str(row)]),
    ],
    "stretto fabric list": [
        Example(
            "fabric list --json", "stretto-fabrics", "fabrics",
            lambda row: [
                Path(row["file"]).stem, row["mpi"], row["hosts"], row["measured"]["when"],
                format_seconds(row["measured"]["latency"]), format_bandwidth(row["measured"]["bandwidth"]),
                str(row["decisions"]),
            ],
            "fabric_file",
        )
    ],
    "stretto fabric show": [
        Example(
            "fabric show --json", "stretto-known-network", "decisions",
            lambda row: [
                row["call"], str(row["nodes"]), str(row["ppn"]), format_bytes(row["bytes_from"]), row["spec"],
                three_digits(row["gain"]), format_seconds(row["seconds"]), row["when"],
            ],
            "fabric_file",
        )
    ],
    "stretto explain": [
        Example(
            "explain --machine altec --bytes 1MiB --top 1000 --json", "stretto-explanation", "candidates",
            lambda row: [format_seconds(row["predicted"])],
        ),
        Example(
            "explain --nodes 8 --json", "stretto-overview", "spans", lambda row: [row["spec"]],
        ),
        Example(
            "explain --rule --json", "stretto-rule", "rows", lambda row: [row["calls"], f"-> {row['spec']}"],
        ),
        Example(
            "explain --rule --json", "stretto-rule", "figures",
            lambda row: [f"{row['name']} = {size_text(row['bytes'])}"],
        ),
    ],
    "stretto bench": [
        Example(
            "bench allreduce --specs native,ring --sizes 16MiB --mpi openmpi --json -- env",
            "stretto-bench", "results",
            lambda row: [
                format_bytes(row["bytes"]), row["spec"],
                *(three_digits(row["time"][name]) for name in ("median", "low", "high")),
                format_bandwidth(row["bandwidth"]["median"]),
            ],
            "measured",
        )
    ],
    "stretto tune": [
        Example(
            "tune --sizes 64,1KiB --budget 20s -o {folder}/table.json --mpi openmpi --json -- env",
            "stretto-choices", "calls/choices",
            lambda row: [
                format_bytes(row["bytes"]), short_time(row["native"]["median"]), row["spec"],
                short_time(row["seconds"]["median"]), f"{row['gain']['median']:.2f}",
            ],
            "asked",
        )
    ],
    "stretto calibrate": [
        Example(
            "calibrate --simulated altec --nodes 2 -o {folder}/machine.json --json",
            "stretto-machine", "levels/network",
            lambda row: [
                "rendezvous" if row.get("synchronous") else "eager",
                three_digits(row["latency"] / seconds_unit(row["latency"])[0]),
            ],
        )
    ],
    "stretto trace": [
        Example(
            "trace {folder} --json", "stretto-trace", "slowest",
            lambda row: [
                row["collective"], format_bytes(row["bytes"]), str(row["ranks"]),
                short_time(row["total_us"] / 1e6), short_time(row["work_us"] / 1e6),
            ],
            "traces",
        )
    ],
    "stretto top": [
        Example(
            "top --json --interval 1ms", "stretto-top", "jobs/here",
            lambda row: [
                str(row["rank"]), str(row["pid"]), three_digits(row["calls_per_second"]),
                percent(row["inside"]), *(["bcast of 4 KiB", "> 0.50 s"] if row["now"] else []),
            ],
            "running_job",
        )
    ],
    "stretto profile": [
        Example(
            "profile --json -- mpirun program", "stretto-profile", "collectives",
            lambda row: [
                row["collective"], row["spec"], format_bytes(row["bytes"]), str(row["calls"]),
                format_seconds(row["inside"]),
            ],
            "profiled", status=3,
        )
    ],
}  # fmt: skip


@pytest.fixture
def few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithms, "_CROSSING_NODES", (2, 4))
    monkeypatch.setattr(algorithms, "_CROSSING_PPN", (2,))


@pytest.fixture
def labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "STATE", tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    state = {
        "name": "stretto-one",
        "rates": ["200mbit"] * 2,
        "racks": 1,
        "uplink": "unlimited",
        "owner": None,
    }
    for name, text in (
        ("stretto-one", json.dumps(state | {"complete": True})),
        ("stretto-two", json.dumps(state | {"name": "stretto-two", "complete": False})),
        ("stretto-torn", '{"name"'),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "state.json").write_text(text)


@pytest.fixture
def running_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job whose first rank waits for the second."""
    here = [
        RankActivity(
            rank, 4711 + rank, Rates(812, 3.3e6, inside), {"bcast": Rates(812, 3.3e6, inside)},
            {"bcast": Count(9, 72)}, now,
        )
        for rank, inside, now in ((0, 0.83, Now("bcast", 4096, 0.5, True)), (1, 0.12, None))
    ]  # fmt: skip
    found = [Job(2, 1, "Open MPI 4.1.4", 1e9, "./solver", here)]
    monkeypatch.setattr(top, "look_once", lambda *_: found)


@pytest.fixture
def fabric_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file that docs/formats.md shows."""
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
    text = page.split("\n## A fabric\n")[1].split("```json\n")[1].split("```")[0]
    file = tmp_path / "fabrics" / "openmpi-1.json"
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    monkeypatch.setenv("STRETTO_CACHE", str(tmp_path))
    monkeypatch.delenv("STRETTO_FABRIC", raising=False)


START = {
    "event": "start", "collective": "allreduce", "root": 0, "library": "Open MPI v4.1.4", "ranks": 2,
    "nodes": 2, "ppn": [1, 1], "specs": ["native", "ring"], "sizes": [16 << 20], "type": "float",
    "stretto": "0.1.0",
}  # fmt: skip


@pytest.fixture
def measured(program: MeasuringProgram) -> None:
    def result(spec: str, *seconds: float) -> dict[str, Any]:
        case = {"event": "result", "bytes": 16 << 20, "in_place": False, "inner": 1, "correct": True}
        return case | {"spec": spec, "chosen": spec, "seconds": list(seconds)}

    native, ring = [2.4, 2.5, 2.6, 2.5, 2.5, 2.7], [1.2, 1.25, 1.3, 1.25, 1.25, 1.35]
    program.let_print(START, result("native", *native), result("ring", *ring), {"event": "end"})


# In place of the measuring program: a call takes a microsecond a byte, `ring` half of that.
ASKED = """
import json, sys
def say(**event): print(json.dumps(event, separators=(",", ":")), flush=True)
where = dict(library="Open MPI v4.1.4", ranks=2, nodes=2, ppn=[1, 1], stretto="0.1.0")
say(event="ready", algorithms={}, by_launch=False, **where)
for line in sys.stdin:
    if line.strip() == "end": break
    words = line.split()
    options = dict(zip(words[::2], words[1::2]))
    specs, size = options["--specs"].split(","), int(options["--sizes"])
    say(event="start", collective="allreduce", root=0, specs=specs, sizes=[size], type="float", **where)
    for spec in specs:
        seconds = [size * 1e-6 * (0.5 if spec == "ring" else 1.0)] * int(options["--repetitions"])
        say(event="result", bytes=size, in_place=False, spec=spec, chosen=spec, inner=1, form="blocking",
            seconds=seconds, correct=True)
    say(event="end")
"""


def let_answer(program: MeasuringProgram) -> None:
    program.let_run(f"exec {sys.executable} -c {shlex.quote(ASKED)}")


@pytest.fixture
def asked(program: MeasuringProgram) -> None:
    let_answer(program)


def write_traces(folder: Path) -> None:
    for rank in (0, 1):
        events = [
            {
                "ph": "X", "cat": "collective", "name": name, "pid": rank, "tid": 0, "ts": begin + 40 * rank,
                "dur": 900 - 40 * rank,
                "args": {
                    "spec": "ring", "bytes": 1 << 20, "communicator": "2@1f.0", "ranks": 2,
                    "sequence": number, "form": "blocking",
                },
            }
            for number, (name, begin) in enumerate((("allreduce", 0), ("bcast", 2000)))
        ]  # fmt: skip
        about = {
            "stretto": "0.1.0",
            "rank": rank,
            "ranks": 2,
            "node": 0,
            "clock": rank,
            "clock_error_us": float(rank),
        }
        text = json.dumps({"displayTimeUnit": "ms", "otherData": about, "traceEvents": events})
        (folder / f"rank-{rank}.json").write_text(text)


@pytest.fixture
def traces(tmp_path: Path) -> None:
    write_traces(tmp_path)


@pytest.fixture
def profiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_traces(tmp_path)
    run = SimpleNamespace(folder=read_folder(tmp_path), training=None, status=3)
    monkeypatch.setattr(profile, "run_profiled", lambda *_: run)


@pytest.mark.parametrize(
    "example",
    [pytest.param(one, id=one.line) for several in EXAMPLES.values() for one in several],
)
def test_one_document_with_the_values_of_the_table(
    example: Example,
    request: pytest.FixtureRequest,
    run_both: Callable[[str], Printed],
    capfd: pytest.CaptureFixture[str],
) -> None:
    check_example(example, request, run_both, capfd)


def test_every_command_with_json_has_an_example() -> None:
    assert set(EXAMPLES) == {name for name, command in COMMANDS if json_option(command) is not None}


def test_every_format_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
    for example in [one for several in EXAMPLES.values() for one in several]:
        assert f"| `{example.format}` |" in page or f'"{example.format}"' in page, example.format


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("explain --machine /nowhere --json", 2, "/nowhere"),
        ("verify nothing --json", 2, "there is no algorithm 'nothing'"),
        ("show ring --ranks none --json", 2, "--ranks"),
        ("trace /nowhere --json", 2, "/nowhere"),
        ("bench allreduce --specs nothing --json", 2, "nothing"),
        ("bench allreduce --json file.json", 2, "file.json"),  # as it once was
        ("lab status --json=yes", 2, "--json"),
        ("doctor --lines moon --json", 2, "--lines"),
    ],
)
def test_an_error_is_one_line_and_no_document(line: str, status: int, said: str) -> None:
    ended = CliRunner().invoke(app, shlex.split(line))
    assert ended.exit_code == status
    assert ended.stdout == ""
    assert ended.stderr.startswith("stretto: ")
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr


def test_a_wrong_recipe_has_its_simplest_failure() -> None:
    recipe = Recipe("bcast", "chain")
    failures = [Failure(recipe, text, 1, "rank 1 waits") for text in ("nodes=4,ppn=1", "nodes=2,ppn=1")]
    found = Findings(failures, {Recipe("bcast", "binomial"): StandIns(2, 6, 6)})
    judged = verdicts.judge_all([recipe, Recipe("bcast", "binomial")], found)
    content = json.loads(verdicts.verdicts_json(judged, Scope(["a"] * 4, "for 4 topologies")))
    wrong, right = content["verdicts"]
    assert (wrong["proven"], wrong["wrong_topologies"]) == (False, 2)
    assert wrong["simplest"] == {"topology": "nodes=2,ppn=1", "root": 1, "error": "rank 1 waits"}
    assert (right["proven"], right["wrong_topologies"], right["simplest"]) == (True, 0, None)
    assert (wrong["stand_ins"], right["stand_ins"], right["compared"]) == (None, 2, 6)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_json_cannot_express_is_null(value: float) -> None:
    text = document_text("stretto-x", [], None, {"a": [{"b": (value, 1.5)}], "c": value})
    content = json.loads(text, parse_constant=refuse_constant)
    assert (content["a"], content["c"]) == ([{"b": [None, 1.5]}], None)
    assert "where" not in content


def test_a_document_is_ascii() -> None:
    # Whatever the encoding of standard output is.
    assert document_text("stretto-x", ["→"], "µs", {}).isascii()
