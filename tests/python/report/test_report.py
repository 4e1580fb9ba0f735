# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.python.trace.written import write_trace
from typer.testing import CliRunner

from stretto.cli import main as cli
from stretto.plots.pictures import svg_text
from stretto.report.choices import algorithm_of, choices
from stretto.report.contents import page_sections, page_text
from stretto.report.inputs import Inputs, Shape, TableFile, TableRow, read_inputs
from stretto.report.kinds import Kind
from stretto.report.page import (
    Cell,
    Chart,
    Column,
    Section,
    Table,
    breakable,
    render,
    without_empty_columns,
)
from stretto.report.profile import profile_bars
from stretto.report.study import sizes_text
from stretto.support.errors import StrettoError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("study", "table", "machine", "statistics", "profile", "trace")
SECTIONS = ["throughput", "gains", "choices", "machine", "run", "profile", "trace"]


@pytest.fixture(scope="module")
def inputs(samples: Path) -> Inputs:
    return read_inputs([samples / f"{kind}.json" for kind in KINDS])


def charts(sections: list[Section]) -> dict[str, Chart]:
    return {item.id: item for section in sections for item in section.items if isinstance(item, Chart)}


def tables(sections: list[Section]) -> dict[str, Table]:
    return {item.id: item for section in sections for item in section.items if isinstance(item, Table)}


def test_inputs_are_known_by_their_content(samples: Path, tmp_path: Path) -> None:
    for kind in KINDS:
        file = tmp_path / "renamed"
        file.write_bytes((samples / f"{kind}.json").read_bytes())
        found = read_inputs([file])
        kinds = ("studies", "tables", "machines", "statistics", "profiles", "traces")
        assert sum(len(getattr(found, name)) for name in kinds) == 1
        assert getattr(found, kinds[KINDS.index(kind)])


def test_other_files_of_strettos_are_left_out(samples: Path, tmp_path: Path) -> None:
    advice, output = tmp_path / "advise.json", tmp_path / "report.html"
    advice.write_text('{"format": "stretto-advice", "version": 1}')
    options = ["-o", str(output)]
    result = CliRunner().invoke(cli.app, ["report", str(advice), str(samples / "table.json"), *options])
    kind = f"stretto: {advice} is of the kind stretto-advice, which a report does not show"
    assert (result.exit_code, result.stderr) == (0, f"{kind}: left out\n")
    assert "choices" in output.read_text(encoding="utf-8")
    output.unlink()
    result = CliRunner().invoke(cli.app, ["report", str(advice), *options])
    assert (result.exit_code, output.exists()) == (2, False)
    assert result.stderr.startswith(f"{kind}: expected a study, ")


def test_a_folder_stands_for_the_files_of_its_study(samples: Path, tmp_path: Path) -> None:
    found = read_inputs([samples])
    assert found.files == ["study.json"]
    with pytest.raises(StrettoError, match=r"holds neither study\.json nor guidelines\.json"):
        read_inputs([tmp_path])


def test_there_is_a_section_for_each_input(inputs: Inputs) -> None:
    sections = page_sections(inputs)
    assert [section.id for section in sections] == SECTIONS
    assert list(charts(sections)) == [
        *(f"throughput-{number}" for number in range(1, 8)), "choices-1", "choices-2", "machine-1", "run-1",
        "profile-1", "profile-gradients-1", "trace-1", "trace-ranks-1",
    ]  # fmt: skip
    assert list(tables(sections)) == [
        "gains-table", "ranking-1", "machine-table-1", "run-table-1",
        "profile-table-1", "profile-gradients-table-1", "trace-table-1", "trace-late-1",
    ]  # fmt: skip


def test_the_key_figures_stand_on_top(inputs: Inputs) -> None:
    figures = [figure for section in page_sections(inputs) for figure in section.figures]
    assert [(figure.value, figure.warning) for figure in figures] == [
        ("2.00×", False), ("2.00×", False),  # noqa: RUF001  as it stands on the page
        ("1 of 2", False), ("2.001 s", False), ("40 %", False), ("25 %", False),
    ]  # fmt: skip


def axes_of(inputs: Inputs, chart: str) -> Axes:
    (axes,) = charts(page_sections(inputs))[chart].draw().axes
    return axes


def labels(axes: Axes) -> list[str]:
    return [str(one.get_text()) for one in axes.figure.legends[0].get_texts()]


def points(line: Any) -> tuple[list[float], list[float]]:
    return list(line.get_xdata()), list(line.get_ydata())


def tips(chart: Chart) -> list[str]:
    """What the page shows while the pointer is over the points of a chart."""
    found = re.findall(r'<g class="tip"><title>(.*?)</title>', svg_text(chart.draw()), re.DOTALL)
    return [html.unescape(one) for one in found]


def test_throughput_shows_default_best_stretto_and_the_bound(inputs: Inputs) -> None:
    axes = axes_of(inputs, "throughput-3")
    own = ["ring:segment_bytes=256KiB", "recursive_doubling"]
    assert labels(axes) == ["BEST", "MPI default", "Stretto", *own, "bound of 200mbit links"]
    lines = {str(one.get_label()): points(one)[1] for one in axes.get_lines()}
    assert all(one >= other for one, other in zip(lines["BEST"], lines["MPI default"], strict=True))
    assert lines["MPI default"][-1] == pytest.approx((16 << 20) / (1e-4 + (16 << 20) / 7e6) / 1e6)
    chart = charts(page_sections(inputs))["throughput-3"]
    tip = next(one for one in tips(chart) if one.startswith("Stretto, 16 MiB"))
    assert "chosen: ring:segment_bytes=256KiB" in tip
    assert "s, 2.00 times the MPI default" in tip
    assert "an emulated cluster" in chart.caption


def test_what_the_library_itself_can_do_is_shown_by_itself(inputs: Inputs) -> None:
    assert labels(axes_of(inputs, "throughput-1"))[:2] == ["MPI default", "native(ring)"]
    assert {"NBL", "NBLx4"} <= set(labels(axes_of(inputs, "throughput-2")))


def test_a_table_of_gains_says_library_and_place_once_for_each_run(inputs: Inputs) -> None:
    table = tables(page_sections(inputs))["gains-table"]
    assert [table.columns[number].title for number in table.filters] == ["size"]
    assert [(heading, len(rows)) for heading, rows in table.parts] == [
        (f"MPI_Allreduce of float, {name}, 8 ranks on 8 nodes", 4)
        for name in ("Open MPI 4.1.4", "MPICH 5.0.2")
    ]
    last = [cell.text for cell in table.rows[3]]
    assert last[:2] == ["16 MiB", "2.397 s"]
    # The spec is beside its gain.
    titles = [column.title for column in table.columns]
    assert titles[titles.index("Stretto: gain") + 1] == "by"
    assert (last[6], table.rows[3][6].mark, last[7]) == ("2.00", "good", "ring:segment_bytes=256KiB")


def bench_file(samples: Path, folder: Path, **changes: Any) -> Path:
    run = json.loads((samples / "study.json").read_text())["runs"][0]
    file = folder / "run.json"
    file.write_text(json.dumps({"format": "stretto-bench"} | run | changes), encoding="utf-8")
    return file


def test_the_warnings_of_a_run_are_below_its_heading(samples: Path, tmp_path: Path) -> None:
    busy = "busy machine: others kept 1.7 of 2 cores busy"
    file = bench_file(samples, tmp_path, load={"busy": [busy]}, incomplete="rank 1 was killed")
    page = page_text(read_inputs([file]))
    title = page.index("<h3>MPI_Allreduce of float")
    chart = page.index("<svg", title)
    for warning in (busy, "the budget was too short for 64 MiB", "incomplete: rank 1 was killed"):
        assert title < page.index(f'<p class="note">{warning}</p>') < chart


def test_few_repetitions_are_said(samples: Path, tmp_path: Path) -> None:
    results = json.loads((samples / "study.json").read_text())["runs"][0]["results"]
    few = [one | {"seconds": one["seconds"][:5]} for one in results]
    chart = charts(page_sections(read_inputs([bench_file(samples, tmp_path, results=few)])))["throughput-1"]
    assert "fewer than 6 repetitions (5): " in chart.warnings[0]
    assert "fewer" not in "".join(charts(page_sections(read_inputs([samples])))["throughput-1"].warnings)


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ([20], "at 1 MiB"),
        ([22, 18], "mean of 256 KiB and 4 MiB"),
        ([18, 20, 22], "mean of 256 KiB, 1 MiB and 4 MiB"),
        (list(range(18, 25)), "mean of the 7 sizes measured from 256 KiB to 16 MiB"),
    ],
)
def test_a_mean_says_which_sizes_it_is_over(sizes: list[int], text: str) -> None:
    assert sizes_text([1 << exponent for exponent in sizes]) == text


def test_the_headline_is_over_measured_sizes(inputs: Inputs) -> None:
    labels = [figure.label for section in page_sections(inputs) for figure in section.figures]
    assert labels[0].startswith("Stretto over the MPI default, mean of 1 MiB and 16 MiB: allreduce, Open MPI")


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("ring:segment_bytes=128KiB", ["ring:", "segment_bytes=128KiB"]),
        ("smp(knomial:radix=4)", ["smp(", "knomial:", "radix=4)"]),
        ("a<b,c", ["a&lt;b,", "c"]),
    ],
)
def test_a_spec_is_broken_between_its_parts_only(spec: str, parts: list[str]) -> None:
    assert str(breakable(spec)).split("<wbr>") == parts


def ticks(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def bars(axes: Axes) -> dict[str, list[float]]:
    """The lengths of the bars of each kind."""
    return {str(one.get_label()): [bar.get_width() for bar in one] for one in axes.containers}


def test_a_profile_shows_times_and_gradients(inputs: Inputs) -> None:
    sections = page_sections(inputs)
    axes = axes_of(inputs, "profile-1")
    assert ticks(axes) == ["allreduce, 1 MiB", "bcast, nonblocking, 1 KiB"]
    assert bars(axes) == {"native": [1.5, 1.5], "ring": [1.0]}
    gradients = axes_of(inputs, "profile-gradients-1")
    assert points(gradients.get_lines()[0]) == ([5e-4, 2e-3], [1.0, 3.0])
    assert labels(gradients) == ["the last gradient", "the end of a step"]
    assert "first\n1000000 B, after 500 µs" in tips(charts(sections)["profile-gradients-1"])
    table = tables(sections)["profile-table-1"]
    assert [row[6].text for row in table.rows] == ["15 %", "15 %", "10 %"]


def test_a_trace_shows_slow_collectives_and_late_ranks(inputs: Inputs) -> None:
    sections = page_sections(inputs)
    slow = axes_of(inputs, "trace-1")
    assert ticks(slow) == ["allreduce, 1 MiB, call 4", "allreduce, 1 MiB, call 4 (2)"]
    assert bars(slow) == {"wait": [pytest.approx(2e-3)] * 2, "work": [pytest.approx(3e-3)] * 2}
    warnings = charts(sections)["trace-1"].warnings
    assert warnings[0].startswith("rank 2 left no trace")
    assert "7 collectives without the traces of all ranks" in warnings[1]
    assert list(bars(axes_of(inputs, "trace-ranks-1")).values()) == [[0.0, 1.0], [2.0, 1.0]]
    late = tables(sections)["trace-late-1"]
    assert [[cell.text for cell in row] for row in late.rows] == [
        ["1", "3", "7", "9 ms", "0"], ["several", "3", "7", "9 ms", ""],
    ]  # fmt: skip


def test_a_folder_of_traces_is_summarized(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    call = {
        "ph": "X", "cat": "collective", "name": "allreduce", "pid": 1, "tid": 1, "ts": 1.0, "dur": 50.0,
        "args": {"spec": "ring", "bytes": 64, "communicator": "1@a.0", "ranks": 1, "sequence": 0,
                 "form": "blocking"},
    }  # fmt: skip
    write_trace(folder, [call])
    found = read_inputs([folder])
    assert [(name, one.totals.collectives) for name, one in found.traces] == [("traces", 1)]
    assert [section.id for section in page_sections(found)] == ["trace"]
    assert [file.name for file in folder.iterdir()] == ["rank-0.json"]
    with pytest.raises(StrettoError, match=r"rank-0\.json holds events for a viewer: give the folder"):
        read_inputs([folder / "rank-0.json"])


def test_bars_are_in_the_order_of_their_list(inputs: Inputs) -> None:
    (name, profile) = inputs.profiles[0]
    axes = axes_of(inputs, "profile-1")
    assert ticks(axes) == profile_bars(name, profile).bars
    assert axes.yaxis_inverted()


starts = st.lists(st.integers(1, 1 << 30), max_size=6, unique=True).map(lambda found: [0, *sorted(found)])


@given(st.lists(starts, min_size=1, max_size=4), st.integers(0, 1 << 31))
def test_a_map_shows_for_each_size_what_the_table_says(shapes: list[list[int]], size: int) -> None:
    table = TableFile(
        "x",
        "",
        [
            Shape(
                nodes=nodes + 1,
                ppn=1,
                calls={
                    "bcast": [
                        TableRow.model_validate({"from": start, "spec": f"s{start}"}) for start in found
                    ]
                },
            )
            for nodes, found in enumerate(shapes)
        ],
    )
    (found,) = choices(table)
    column = max(index for index, start in enumerate(found.starts) if start <= size)
    for line, ascending in zip(found.cells, shapes, strict=True):
        assert line[column].spec == f"s{max(start for start in ascending if start <= size)}"


def test_a_map_of_choices(inputs: Inputs) -> None:
    axes = axes_of(inputs, "choices-1")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0 B", "4 KiB", "32 KiB", "64 KiB"]
    assert ticks(axes) == ["8 nodes, ppn 1", "16 nodes, ppn 1 (modelled)"]
    assert labels(axes) == ["native", "native: recursive_doubling", "ring"]
    colours = [one.get_facecolor() for one in axes.figure.legends[0].get_patches()]
    fields = [colours.index(one.get_facecolor()) for one in axes.patches]
    assert fields == [0, 1, 1, 2, 0, 0, 2, 2]
    assert tips(charts(page_sections(inputs))["choices-1"])[3] == (
        "8 nodes, ppn 1, 64 KiB and more\nring:segment_bytes=256KiB\n1.93 times as fast as the MPI default"
    )


def test_a_map_shows_what_was_not_measured() -> None:
    rows = [{"from": "4KiB", "spec": "native"}, {"from": "64KiB", "to": "16MiB", "spec": "ring"}]
    shape = Shape(nodes=8, ppn=1, calls={"bcast": [TableRow.model_validate(row) for row in rows]})
    (found,) = choices(TableFile("x", "", [shape]))
    (line,) = found.cells
    assert [algorithm_of(row) for row in line] == ["built-in rule", "native", "ring", "built-in rule"]
    assert [found.size_text(column) for column in range(4)] == ["0 B", "4 KiB", "64 KiB", "above 16 MiB"]
    assert [found.range_text(column) for column in range(4)] == [
        "0 B to below 4 KiB", "4 KiB to below 64 KiB", "64 KiB to 16 MiB", "above 16 MiB",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("native", "native"),
        ("ring:segments=4", "ring"),
        ("smp(knomial:radix=4):segments=2", "smp(knomial:radix=4)"),
    ],
)
def test_a_colour_for_each_algorithm(spec: str, name: str) -> None:
    assert algorithm_of(TableRow.model_validate({"from": 0, "spec": spec})) == name


def test_a_machine_shows_its_points_and_its_fits(inputs: Inputs) -> None:
    axes = axes_of(inputs, "machine-1")
    assert labels(axes) == ["inside a node, fit", "between nodes, fit", "between nodes, measured"]
    assert points(axes.get_lines()[2])[1] == [pytest.approx(8 / 2e-6 / 1e6)]
    caption = charts(page_sections(inputs))["machine-1"].caption
    assert "One pass" not in caption
    assert "one pass was disturbed." in caption


def test_the_time_of_a_run_by_collective_and_spec(inputs: Inputs) -> None:
    found = bars(axes_of(inputs, "run-1"))
    assert {name: sum(lengths) for name, lengths in found.items()} == {
        "ring": 1.5, "native": pytest.approx(0.501)
    }  # fmt: skip
    shares = [row[-1].text for row in tables(page_sections(inputs))["run-table-1"].rows]
    assert shares == ["75.0 %", "25.0 %", "0.0 %"]


def test_a_picture_has_the_tips_of_its_bars(inputs: Inputs) -> None:
    found = tips(charts(page_sections(inputs))["run-1"])
    assert "allreduce, 1 MiB to below 2 MiB\nring\n12 calls, 1.5 s (75.0 %)" in found


SCRIPT = "<script>alert(1)</script>&<b>"


def poisoned(value: Any) -> Any:
    """Returns the value with markup in every free text."""
    if isinstance(value, dict):
        fixed = ("format", "collective", "form", "what", "level", "from", "bytes", "left", "right")
        return {key: one if key in fixed else poisoned(one) for key, one in value.items()}
    if isinstance(value, list):
        return [poisoned(one) for one in value]
    free = isinstance(value, str) and value not in ("native", "auto")
    return value + SCRIPT if free else value


def test_markup_from_files_is_only_text(samples: Path, tmp_path: Path) -> None:
    files = []
    for kind in KINDS:
        content = poisoned(json.loads((samples / f"{kind}.json").read_text()))
        files.append(tmp_path / f"{kind}<b>.json")
        files[-1].write_text(json.dumps(content))
    page = page_text(read_inputs(files))
    assert "alert(1)" in page
    assert SCRIPT not in page


def nodes(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value: its container and its key."""
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    else:
        return []
    return [(value, key) for key, _ in pairs] + [place for _, one in pairs for place in nodes(one)]


odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["64KiB", "native", "NaN"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(kind=st.sampled_from(KINDS), where=st.integers(0), value=odd, drop=st.booleans())
@example(kind="machine", where=69684, value={}, drop=False)  # nothing to draw
@example(kind="study", where=14_820_799_964_036, value=2.2e-309, drop=False)  # an infinite rate
def test_a_file_that_was_damaged_is_shown_or_refused_in_one_line(
    samples: Path, tmp_path: Path, kind: str, where: int, value: Any, drop: bool
) -> None:
    check_damaged(samples / f"{kind}.json", tmp_path, where, value, drop)


def check_damaged(sample: Path, folder: Path, where: int, value: Any, drop: bool) -> None:
    """Checks that a file of which one value is another or is missing is shown, or refused in one line."""
    content = json.loads(sample.read_text())
    places = nodes(content)
    holder, key = places[where % len(places)]
    if drop:
        del holder[key]
    else:
        holder[key] = value
    file = folder / "damaged.json"
    file.write_text(json.dumps(content))
    try:
        sections = page_sections(read_inputs([file]))
    except StrettoError as error:
        complaint, sections = str(error), []
    else:
        complaint = "damaged.json"
    assert "damaged.json" in complaint
    assert "\n" not in complaint
    for chart in charts(sections).values():
        svg_text(chart.draw())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "does not hold a JSON object"),
        ("{}", "expected a study, a file of"),
        ('{"format": "other"}', "expected a study, a file of"),
        ('{"format": "stretto-table", "version": 1}', "mpi: Field required"),
        ('{"format": "stretto-table", "version": 1, "mpi": "x", "shapes": [{"nodes": 0}]}', "nodes"),
        ('{"format": "stretto-machine", "version": 1, "name": "x", "levels": {"node": []}}', "levels/node"),
        ("\x80", "is not JSON"),
    ],
)
def test_other_files_are_one_line(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "a.json"
    file.write_text(content, encoding="latin-1")
    output = tmp_path / "report.html"
    result = CliRunner().invoke(cli.app, ["report", str(file), "-o", str(output)])
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith(f"stretto: {file}")
    assert message in line
    assert not output.exists()


def test_a_file_that_is_missing_is_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli.app, ["report", str(tmp_path / "none.json")])
    assert result.exit_code == 2
    assert (
        result.stderr == f"stretto: {tmp_path / 'none.json'} could not be read: No such file or directory\n"
    )


def test_the_command_writes_the_page_and_the_pngs(samples: Path, tmp_path: Path) -> None:
    output, png = tmp_path / "report.html", tmp_path / "png"
    files = [str(samples / f"{kind}.json") for kind in KINDS]
    result = CliRunner().invoke(cli.app, ["report", *files, "-o", str(output), "--charts", str(png)])
    assert result.exit_code == 0
    page = output.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert len(page) < 1e6
    written = sorted(file.name for file in png.iterdir())
    assert written == sorted([
        "allreduce-libraries.png",
        "allreduce-mpich-5.0.2-library.png", "allreduce-mpich-5.0.2-pipelining.png",
        "allreduce-mpich-5.0.2-stretto.png", "allreduce-open-mpi-4.1.4-library.png",
        "allreduce-open-mpi-4.1.4-pipelining.png", "allreduce-open-mpi-4.1.4-stretto.png",
        "choices-allreduce-open-mpi-4.1.4.png", "choices-ibcast-open-mpi-4.1.4.png",
        "gradients-profile.png", "machine-sample.png",
        "profile-profile.png", "run-statistics.png",
        "trace-ranks-trace.png", "trace-trace.png",
    ])  # fmt: skip
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in png.iterdir())


def test_empty_columns_are_left_out() -> None:
    columns = [Column("name"), Column("remark"), Column("n", True)]
    rows = [[Cell("a"), Cell(""), Cell("2", 2.0)], [Cell("b"), Cell(""), Cell("", detail="none")]]
    table = without_empty_columns(Table("t", "", "", columns, rows, filters=(0, 1, 2)))
    assert [column.title for column in table.columns] == ["name", "n"]
    assert [[cell.text for cell in row] for row in table.rows] == [["a", "2"], ["b", ""]]
    assert table.filters == [0, 1]
    empty = Table("t", "", "", columns, [])
    assert without_empty_columns(empty).columns == columns


def test_no_text_is_marked_up_for_another_format(inputs: Inputs, samples: Path, tmp_path: Path) -> None:
    runs = json.loads((samples / "study.json").read_text())["runs"]
    (tmp_path / "run.json").write_text(json.dumps({"format": "stretto-bench"} | runs[0]))
    for found in (inputs, read_inputs([tmp_path / "run.json"])):
        shown = page_text(found)
        page = shown[: shown.index("<script>")]
        assert "`" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)


def test_a_page_of_one_table() -> None:
    table = Table(
        "t", "a title", "a caption", [Column("name"), Column("n", True)], [[Cell("a<b"), Cell("2", 2.0)]]
    )
    page = render("title", "subtitle", [Section("s", "A section", "an intro", [table])], ["file.json"])
    assert "<td>a&lt;b</td>" in page
    assert '<td data-sort="2.0">2</td>' in page
    assert 'href="#s"' in page


def test_another_distribution_adds_a_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(content: dict[str, Any], file: Path) -> str:
        if "words" not in content:
            raise StrettoError(f"{file.name}: no words")
        return str(content["words"])

    def show(found: Sequence[str]) -> list[Section]:
        return [Section("words", "Words", " ".join(found))]

    def entries(*, group: str, name: str) -> list[SimpleNamespace]:
        assert group == "stretto.report"
        return [SimpleNamespace(load=lambda: Kind(read, show, str.upper))] if name == "stretto-words" else []

    monkeypatch.setattr(metadata, "entry_points", entries)
    file = tmp_path / "words.json"
    file.write_text('{"format": "stretto-words", "words": "hello"}')
    page = page_text(read_inputs([file]))
    assert '<section id="words">' in page
    assert '<p class="subtitle">HELLO</p>' in page
    file.write_text('{"format": "stretto-words"}')
    with pytest.raises(StrettoError, match=r"words\.json: no words"):
        read_inputs([file])


def test_a_distribution_that_is_broken_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> object:
        raise ImportError("No module named 'nothing'")

    monkeypatch.setattr(metadata, "entry_points", lambda **_: [SimpleNamespace(load=fail)])
    file = tmp_path / "words.json"
    file.write_text('{"format": "stretto-words"}')
    with pytest.raises(StrettoError, match="of the kind stretto-words cannot be loaded: No module named"):
        read_inputs([file])
