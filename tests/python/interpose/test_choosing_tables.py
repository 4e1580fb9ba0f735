# SPDX-License-Identifier: Apache-2.0
"""The library's reader of tuning tables, called from Python."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto import _core

COLLECTIVES = _core.collectives()
CALLS = {
    call: one for one in COLLECTIVES for call in (one, f"i{one}", f"{one}_init")
}  # each with its collective
RECIPES = {one: [*_core.sample_recipes(one), "native"] for one in COLLECTIVES}


def as_size(number: int) -> st.SearchStrategy[int | str]:
    """All ways to write the value."""
    ways: list[int | str] = [number, str(number)]
    ways += [
        f"{number // unit}{name}" for name, unit in (("KiB", 1 << 10), ("MiB", 1 << 20)) if number % unit == 0
    ]
    return st.sampled_from(ways)


@st.composite
def specs(draw: st.DrawFn, collective: str) -> str:
    recipe = draw(st.sampled_from(RECIPES[collective]))
    return recipe + draw(st.sampled_from(["", ":segments=3", ":segment_bytes=64KiB"]))


@st.composite
def row_lists(draw: st.DrawFn, collective: str) -> list[dict[str, Any]]:
    starts = sorted(
        draw(st.sets(st.integers(1, 1 << 50) | st.integers(1, 64).map(lambda k: k << 10), max_size=4))
    )
    if not starts or draw(st.booleans()):
        starts = [0, *starts]
    rows: list[dict[str, Any]] = []
    for start, after in zip(starts, [*starts[1:], 1 << 50], strict=True):
        row: dict[str, Any] = {"from": draw(as_size(start)), "spec": draw(specs(collective))}
        if draw(st.booleans()):
            row["to"] = draw(as_size(draw(st.integers(start, max(start, after - 1)))))
        if row["spec"].startswith("native") and draw(st.booleans()):
            row["library"] = draw(
                st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=20)
            )
        if draw(st.booleans()):
            row["gain"] = draw(st.floats(1e-3, 1e6))
        rows.append(row)
    return rows


@st.composite
def shapes(draw: st.DrawFn, nodes: int, ppn: int) -> dict[str, Any]:
    shape: dict[str, Any] = {"nodes": nodes, "ppn": ppn}
    if draw(st.booleans()):
        shape["min_ppn"] = draw(st.integers(1, ppn))
    if draw(st.booleans()):
        shape["modelled"] = draw(st.booleans())
    for call in draw(st.sets(st.sampled_from(sorted(CALLS)), max_size=3)):
        shape[call] = draw(row_lists(CALLS[call]))
    return shape


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    keys = draw(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 4)), max_size=4, unique=True))
    table: dict[str, Any] = {"format": "stretto-table", "version": 1, "mpi": "Open MPI 4.1.4"}
    if draw(st.booleans()):
        table["network"] = "tcp 200mbit"
    table["shapes"] = [draw(shapes(nodes, ppn)) for nodes, ppn in keys]
    if draw(st.booleans()):
        table["notes"] = draw(JSON)
    return table


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 65), 1 << 65)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["64KiB", "ring", "native", "Open MPI 4.1.4", "stretto-table"])
)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["from", "spec", "ppn", *CALLS]) | st.text(max_size=3), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def number(size: int | str) -> int:
    for unit, factor in (("KiB", 1 << 10), ("MiB", 1 << 20)):
        if str(size).endswith(unit):
            return int(str(size).removesuffix(unit)) * factor
    return int(size)


@given(tables())
def test_what_is_written_is_read(table: dict[str, Any]) -> None:
    read = _core.read_table(json.dumps(table))
    assert (read.mpi, read.network) == (table["mpi"], table.get("network", ""))
    assert len(read.shapes) == len(table["shapes"])
    for shape, written in zip(read.shapes, table["shapes"], strict=True):
        assert (shape.nodes, shape.ppn) == (written["nodes"], written["ppn"])
        assert shape.min_ppn == written.get("min_ppn", shape.ppn)
        assert shape.modelled == written.get("modelled", False)
        assert set(shape.calls) == set(written) & set(CALLS)
        for call, collective in CALLS.items():
            listed = written.get(call, [])
            starts = [number(row["from"]) for row in listed]
            lasts = [start - 1 for start in starts[1:]] + [None]
            rows = [
                (
                    start,
                    number(row["to"]) if "to" in row else last,
                    str(_core.parse_spec(row["spec"], collective)),
                    row.get("library", ""),
                    row.get("gain"),
                )
                for row, start, last in zip(listed, starts, lasts[: len(listed)], strict=True)
            ]
            found = [(row.begin, row.last, row.spec, row.library, row.gain) for row in shape.rows(call)]
            assert found == rows


@given(tables(), st.sampled_from(sorted(CALLS)), st.integers(1, 60), st.integers(1, 4), st.data())
def test_a_lookup_is_a_scan(
    table: dict[str, Any], call: str, nodes: int, ppn: int, data: st.DataObject
) -> None:
    text = json.dumps(table)
    shape = _core.read_table(text).find_shape(nodes, ppn)
    rows = shape.rows(call) if shape else []
    ends = [row.last for row in rows if row.last is not None]
    borders = [max(0, border + step) for border in [row.begin for row in rows] + ends for step in (-1, 0, 1)]
    size = data.draw(st.sampled_from(borders) if borders else st.integers(0, 1 << 60))
    fitting = [row.spec for row in rows if row.begin <= size and (row.last is None or size <= row.last)]
    assert _core.lookup(text, call, nodes, ppn, size) == (fitting[-1] if fitting else None)
    if shape:
        found = shape.find(call, size)
        assert (found.spec if found else None) == (fitting[-1] if fitting else None)


def read_or_one_line(text: str) -> None:
    try:
        _core.read_table(text)
    except ValueError as error:
        lines = str(error).splitlines()
        assert len(lines) == 1, lines
        assert 0 < len(lines[0]) < 1500


def places(value: Any) -> list[tuple[Any, Any]]:
    """Each container with each of its keys or indices."""
    if isinstance(value, dict):
        found: list[tuple[Any, Any]] = [(value, key) for key in value]
        return found + [place for inner in value.values() for place in places(inner)]
    if isinstance(value, list):
        found = [(value, index) for index in range(len(value))]
        return found + [place for inner in value for place in places(inner)]
    return []


@given(tables(), st.data(), JSON, st.text(max_size=4))
def test_another_value_anywhere_is_read_or_refused_in_one_line(
    table: dict[str, Any], data: st.DataObject, other: Any, key: str
) -> None:
    container, place = data.draw(st.sampled_from(places(table)))
    if isinstance(container, dict) and data.draw(st.booleans()):
        container[key] = container.pop(place)
    else:
        container[place] = other
    read_or_one_line(json.dumps(table))


@given(tables(), st.data())
def test_other_letters_anywhere_are_read_or_refused_in_one_line(
    table: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(
        table, ensure_ascii=data.draw(st.booleans()), indent=data.draw(st.sampled_from([None, 1]))
    )
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    read_or_one_line(text[:start] + data.draw(st.text(max_size=5)) + text[end:])


@given(st.text() | JSON.map(json.dumps))
def test_what_is_no_table_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        _core.read_table(text)


@pytest.mark.parametrize("text", ["NaN", '{"version": NaN}', '{"version": -Infinity}'])
def test_what_python_writes_and_json_has_not(text: str) -> None:
    with pytest.raises(ValueError, match=r"line 1, column .*: this is not JSON"):
        _core.read_table(text)


def test_a_call_that_there_is_not() -> None:
    table = json.dumps({"format": "stretto-table", "version": 1, "mpi": "MPICH 4.0.2", "shapes": []})
    with pytest.raises(ValueError, match='there is no call "alltoallw"; there are names such as allreduce'):
        _core.lookup(table, "alltoallw", 8, 1, 0)
    assert _core.lookup(table, "allreduce", 8, 1, 0) is None


def test_whether_it_fits_the_library() -> None:
    table = _core.read_table('{"format": "stretto-table", "version": 1, "mpi": "MPICH 4.0.2", "shapes": []}')
    assert table.fit("MPICH Version:      4.0.2\nMPICH Release date: x") == (True, "")
    assert table.fit("MPICH 5.0.1") == (True, "was made on MPICH 4.0.2, and this is MPICH 5.0.1")
    assert not table.fit("Open MPI v4.1.4, package: x")[0]


def test_the_default_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/config")
    assert _core.default_table_path("mpich") == "/config/stretto/table-mpich.json"
    assert _core.parse_library_name("Intel(R) MPI Library 2021.13 for Linux* OS") == (
        "intelmpi",
        "Intel MPI 2021.13",
    )
    assert _core.parse_library_name("none") is None
