# SPDX-License-Identifier: Apache-2.0
"""--json prints one document, with the values of the table. Each command has an example."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from tests.python.cli.documents import Example, Printed, case, check_example, percent
from tests.python.cli.json_options import all_commands
from tests.python.cli.test_json_documents import let_answer
from typer.testing import CliRunner

from stretto.bench.targets import Place, Target
from stretto.cli.main import app
from stretto.launch import jobs
from stretto.plots.panels import Panel
from stretto.spec.labels import label_of
from stretto.support.json_files import document_text
from stretto.support.units import format_bandwidth, format_bytes, format_seconds, three_digits
from stretto_research.cli import reproduce, train
from stretto_research.regret import session
from stretto_research.reproduce.figure import Bench, Claim, Figure, Verdict
from stretto_research.reproduce.figure import Result as Reproduced
from stretto_research.study.guidelines import Guideline
from stretto_research.training.result import Line, Training

if TYPE_CHECKING:
    from tests.python.conftest import MeasuringProgram

EXAMPLES: dict[str, list[Example]] = {
    "stretto predict": [
        Example(
            "predict bcast --sizes 1KiB,1MiB --nodes 4 --json", "stretto-predicted-times", "predictions",
            lambda row: [
                *case(row), format_bandwidth(row["bytes"] / row["seconds"]),
                percent(row["bound_seconds"] / row["seconds"]),
            ],
        ),
        Example(
            "predict allreduce --against {folder}/bench.json --json", "stretto-prediction", "choices",
            lambda row: [
                format_bytes(row["bytes"]), row["best"], row["chosen"], percent(row["regret"]),
                percent(row["median_error"]), percent(abs(row["worst_error"])),
            ],
            "bench_file",
        ),
    ],
    "stretto advise": [
        Example(
            "advise --nodes 2 --sizes 1KiB,1MiB --no-check --json", "stretto-advice", "advice", case,
        )
    ],
    "stretto simulate": [
        Example(
            "simulate --platform altec --json", "stretto-ping-pong", "results",
            lambda row: [
                format_bytes(row["bytes"]), format_seconds(row["seconds"]), format_bandwidth(row["bandwidth"])
            ],
        )
    ],
    "stretto_research.cli.simulate -- bench": [
        Example(
            "simulate --platform altec --nodes 2 -- bench bcast --specs native,chain --sizes 8,1MiB --json",
            "stretto-bench", "results",
            lambda row: [
                format_bytes(row["bytes"]), row["spec"], format_seconds(row["time"]["median"])
            ],
        )
    ],
    "stretto regret": [
        Example(
            "regret --networks 1x2 --mpi openmpi --collectives allreduce --sizes 64KiB --json",
            "stretto-regret", "summary",
            lambda row: [
                row["network"], str(row["calls"]), f"{100 * row['mean_regret_of_native']:.0f} %",
                f"{100 * row['mean_regret']:.0f} %", format_bytes(row["worst_regret_at"]["bytes"]),
                three_digits(row["mean_gain"]), three_digits(row["least_gain"]["median"]),
            ],
            "asked_in_one_process",
        )
    ],
    "stretto study": [
        Example(
            "study allreduce --np 2 --mpi openmpi --sizes 1KiB --specs ring --repetitions 5 --budget 20s "
            "-o {folder} --json",
            "stretto-study", "summary/sizes",
            lambda row: [format_bytes(row["bytes"]), format_seconds(row["auto"]["seconds"])],
        ),
        Example(
            "study bcast --guidelines --np 2 --mpi openmpi --sizes 1KiB --repetitions 5 --budget 20s "
            "-o {folder} --json",
            "stretto-guidelines", "libraries/checks",
            lambda row: [
                Guideline(row["collective"], row["left"], row["right"]).text,
                three_digits(row["ratio"]["median"]) + (" !" if row["violated"] else ""),
            ],
        ),
    ],
    "stretto replay": [
        Example(
            "replay resnet110 --platform altec --nodes 2 --calls model --specs native,ring --steps 1 --json",
            "stretto-replay", "outcomes",
            lambda row: [
                label_of(row["spec"]), str(row["nodes"]), three_digits(row["images_per_second"]),
                f"{row['speedup']:.3f}" if row["speedup"] else "", format_seconds(row["step_seconds"]),
            ],
        )
    ],
    "stretto reproduce": [
        Example(
            "reproduce pipelined/fig4 -o {folder} --json", "stretto-reproduction", "figures/claims",
            lambda row: [row["reported"], row["came_out"], row["verdict"], row["why"]],
            "figures",
        )
    ],
    "stretto train": [
        Example(
            "train --model alexnet --json", "stretto-training", "lines",
            lambda row: [
                row["label"], three_digits(row["images_per_second"]["median"]),
                format_seconds(row["step_seconds"]), percent(row["communication_share"]),
                f"{row['speedup']['median']:.2f}" if row["speedup"] else "",
            ],
            "trained",
        )
    ],
}  # fmt: skip


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
    assert set(EXAMPLES) == {name for name, _ in all_commands("stretto_research")}


def test_every_format_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
    for example in [one for several in EXAMPLES.values() for one in several]:
        assert f"| `{example.format}` |" in page or f'"{example.format}"' in page, example.format


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("predict nothing --json", "there is no collective 'nothing'"),
        ("predict allreduce --json file.json", "file.json"),
        ("simulate --json -- bench allreduce", "--json: give it to bench, after the --"),
    ],
)
def test_an_error_is_one_line_and_no_document(line: str, said: str) -> None:
    ended = CliRunner().invoke(app, shlex.split(line))
    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("stretto: ")
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr


@pytest.fixture
def bench_file(tmp_path: Path) -> None:
    results = [
        {
            "bytes": size, "in_place": False, "spec": spec, "form": "blocking", "chosen": spec,
            "correct": True, "inner": 1, "with_barrier": False, "seconds": [size * often * 1e-9],
        }
        for size in (1 << 16, 1 << 20)
        for often, spec in enumerate(("native", "ring", "recursive_doubling"), 1)
    ]  # fmt: skip
    run = {
        "collective": "allreduce", "mpi": "Open MPI v4.1.4", "ranks": 8, "nodes": 8, "ppn": [1] * 8,
        "type": "float", "results": results,
    }  # fmt: skip
    (tmp_path / "bench.json").write_text(document_text("stretto-bench", [], "8 nodes", run))


@pytest.fixture
def asked_in_one_process(program: MeasuringProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    let_answer(program)

    def start(program: list[str], stdin: int = subprocess.DEVNULL) -> AbstractContextManager[jobs.Process]:
        return jobs.start(program, stdin=stdin)

    def find(_place: Place, *, may_lack_mpi: bool) -> Target:  # noqa: ARG001
        return Target("openmpi", start)

    monkeypatch.setattr(session, "find_target", find)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(_bench: Bench) -> Reproduced:
        claims = [
            Claim("twice as fast", "1.9 x", Verdict.AGREES),
            Claim("a", "b", Verdict.DIFFERS, "a reason"),
        ]
        return Reproduced([Panel("one", {"curve": {1.0: 1.0, 2.0: 3.0}})], claims)

    monkeypatch.setattr(reproduce, "find_figures", lambda _: [Figure("pipelined", "fig4", "A title", make)])


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [Line("native", {0: [2.0, 2.1], 1: [2.2, 2.0]}), Line("ring", {0: [1.0, 1.1], 1: [1.1, 1.2]})]
    training = Training("pytorch", "alexnet", "digits", 2, lines, ranks=2, compute=[0.5])
    measurement = SimpleNamespace(training=training, run=lambda _progress: None)
    monkeypatch.setattr(train, "prepare", lambda *_: measurement)
