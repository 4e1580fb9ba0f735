# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto import _core
from stretto.support.errors import StrettoError
from stretto.support.estimates import Estimate
from stretto.tune.findings import Choice
from stretto.tune.table import (
    Shape,
    Tuned,
    geometric_mean_gain,
    library_rows,
    merged,
    read_old,
    rows_of,
    table_text,
)

SPECS = ["native", "ring:segment_bytes=256KiB", "recursive_doubling", "native(ring)"]


def choice(size: int, spec: str, gain: float = 1.5, library: str | None = None) -> Choice:
    seconds = Estimate(1.0, 1.0, 1.0, 0.98)
    own = Estimate(gain, gain, gain, 0.98)
    return Choice(size, spec, seconds, seconds, own, library, own if library else None)


def tuned(choices: list[Choice], call: str = "allreduce", **other: Any) -> Tuned:
    values: dict[str, Any] = {
        "mpi": "Open MPI 4.1.4",
        "network": "",
        "shape": Shape(8, 1, 1),
        "remarks": [],
        "about": {},
    }
    return Tuned(choices={call: choices}, **(values | other))


def test_rows_say_what_holds_from_which_size_on() -> None:
    rows = rows_of([
        choice(64, "native"),
        choice(1024, "recursive_doubling", 1.2), choice(4096, "recursive_doubling", 1.2),
        choice(16384, "native(ring)", 1.3), choice(65536, "native"), choice(1 << 20, "ring", 2.0),
    ])  # fmt: skip
    assert rows == [
        {"from": 0, "spec": "native"},
        {"from": "1KiB", "spec": "recursive_doubling", "gain": 1.2},
        {"from": "16KiB", "spec": "native", "library": "ring", "gain": 1.3},
        {"from": "28KiB", "spec": "native"},
        {"from": "1MiB", "to": "1MiB", "spec": "ring", "gain": 2.0},
    ]


def test_nothing_is_said_of_sizes_that_were_not_measured() -> None:
    assert rows_of([choice(4096, "ring"), choice(8192, "ring")]) == [
        {"from": "4KiB", "to": "8KiB", "spec": "ring", "gain": 1.5}
    ]
    assert rows_of([choice(4096, "native")]) == [{"from": "4KiB", "to": "4KiB", "spec": "native"}]
    # Messages that are shorter than the shortest one are not faster.
    assert rows_of([choice(64, "ring"), choice(256, "native")]) == [
        {"from": 0, "spec": "ring", "gain": 1.5},
        {"from": 112, "to": 256, "spec": "native"},
    ]


def test_no_row_reaches_over_sizes_that_were_left_out() -> None:
    choices = [choice(1024, "ring"), choice(65536, "native"), choice(1 << 20, "native")]
    wanted = [1024, 4096, 16384, 65536, 1 << 20]
    assert rows_of(choices, wanted) == [
        {"from": "1KiB", "to": "1KiB", "spec": "ring", "gain": 1.5},
        {"from": "64KiB", "to": "1MiB", "spec": "native"},
    ]
    rows = library_rows(choices, wanted, by_launch=False)
    assert [(row["from"], row.get("to")) for row in rows] == [("1KiB", "1KiB"), ("64KiB", "1MiB")]
    # The first is from an interrupted tuning of other sizes.
    rows = rows_of(choices, [65536, 1 << 20])
    assert [(row["from"], row.get("to")) for row in rows] == [("1KiB", "1KiB"), ("64KiB", "1MiB")]
    text = table_text(merged(tuned(choices, sizes=wanted), None))
    assert _core.lookup(text, "allreduce", 8, 1, 16384) is None


def test_beyond_a_short_tuning_the_rule_decides() -> None:
    text = table_text(merged(tuned([choice(64, "native"), choice(256, "native")]), None))
    assert _core.lookup(text, "allreduce", 8, 1, 256) == "native"
    assert _core.lookup(text, "allreduce", 8, 1, 16 << 20) is None


def test_an_older_table_gets_its_ends_from_its_notes(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    old = merged(tuned([choice(64, "ring"), choice(4096, "native", library="ring")]), None)
    newer = json.loads(json.dumps(old))
    for rows in (old["shapes"][0]["allreduce"], old["notes"]["library"][0]["rows"]):
        del rows[-1]["to"]
    old["shapes"][0]["bcast"] = newer["shapes"][0]["bcast"] = [{"from": 0, "spec": "chain"}]  # by hand
    path.write_text(table_text(old))
    assert read_old(path, "Open MPI 4.1.4", "")[0] == newer
    old["notes"]["tuning"] = [{"call": "allreduce"}]
    path.write_text(table_text(old))
    assert read_old(path, "Open MPI 4.1.4", "")[0] == old


sizes = st.lists(st.integers(min_value=1, max_value=1 << 34), min_size=1, max_size=20, unique=True)


@given(sizes, st.data())
def test_the_library_reads_what_is_written(all_sizes: list[int], data: st.DataObject) -> None:
    choices = [choice(size, data.draw(st.sampled_from(SPECS))) for size in sorted(all_sizes)]
    table = _core.read_table(table_text(merged(tuned(choices), None)))
    shape = table.find_shape(8, 1)
    assert shape is not None
    for one in choices:
        spec = _core.lookup(table_text(merged(tuned(choices), None)), "allreduce", 8, 1, one.size)
        assert spec == ("native" if one.spec.startswith("native") else str(_core.parse_spec(one.spec)))


def test_what_a_table_has_of_others_stays() -> None:
    table = merged(tuned([choice(64, "ring")]), None)
    table = merged(tuned([choice(64, "recursive_doubling")], shape=Shape(4, 2, 2)), table)
    table = merged(tuned([choice(64, "chain")], call="bcast"), table)
    assert [(shape["nodes"], sorted(set(shape) - {"nodes", "ppn"})) for shape in table["shapes"]] == [
        (4, ["allreduce"]), (8, ["allreduce", "bcast"]),
    ]  # fmt: skip
    again = merged(tuned([choice(64, "swing")]), table)
    assert again["shapes"][1]["allreduce"][0]["spec"] == "swing"
    assert again["shapes"][1]["bcast"][0]["spec"] == "chain"
    assert len(again["notes"]["tuning"]) == len(again["notes"]["library"]) == 3


def test_notes_name_the_librarys_own() -> None:
    choices = [
        choice(64, "ring", 1.0, "linear"),
        choice(256, "ring", 1.6, "linear"),
        choice(1024, "ring", 1.2, "ring"),
    ]
    assert library_rows(choices, by_launch=False) == [
        {"from": 0, "algorithm": None},
        {"from": 256, "algorithm": "linear", "gain": 1.6},
        {"from": 1024, "to": "1KiB", "algorithm": "ring", "gain": 1.2},
    ]
    assert library_rows(choices, by_launch=True)[0] == {"from": 0, "algorithm": "linear", "gain": 1.0}


def test_ragged_nodes() -> None:
    text = table_text(merged(tuned([choice(64, "ring")], shape=Shape.of([4, 4, 1])), None))
    assert '"min_ppn": 1' in text
    assert _core.lookup(text, "allreduce", 3, 4, 64) is None or "ring" in text


def test_a_table_of_another_library_is_not_added_to(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    assert read_old(path, "Open MPI 4.1.4", "") == (None, "")
    path.write_text(table_text(merged(tuned([choice(64, "ring")]), None)))
    assert read_old(path, "Open MPI 4.1.4", "")[0] == json.loads(path.read_text())
    assert "for Open MPI 4.1.4" in read_old(path, "Open MPI 5.0.2", "")[1]
    assert "another network" in read_old(path, "Open MPI 4.1.4", "ib")[1]
    path.write_text('{"format": "stretto-table"')
    with pytest.raises(StrettoError, match="not a valid table; move it away"):
        read_old(path, "Open MPI 4.1.4", "")


def test_the_mean_of_gains() -> None:
    choices = [choice(1 << 10, "ring", 9.0), choice(1 << 18, "ring", 2.0), choice(1 << 20, "ring", 8.0)]
    assert geometric_mean_gain(choices, 1 << 18, 1 << 24) == pytest.approx(4)
    assert geometric_mean_gain(choices, 1 << 30, 1 << 31) is None
