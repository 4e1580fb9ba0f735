# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.support import units
from stretto.support.errors import StrettoError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8", 8), ("8B", 8), ("1KiB", 1024), ("1.5 MiB", 3 << 19), ("2GiB", 2 << 30),
        ("1KB", 1000), ("3mb", 3_000_000), (" 1gb ", 10**9), ("0.5KiB", 512),
    ],
)  # fmt: skip
def test_bytes(text: str, size: int) -> None:
    assert units.parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "KiB", "4x", "-1", "1k", "0.3B", "1e3", "1KiB2"])
def test_what_is_no_size_is_named(text: str) -> None:
    with pytest.raises(StrettoError, match="is not a ") as caught:
        units.parse_bytes(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("64", [64]),
        ("1KiB,8,8B", [8, 1024]),
        ("1KiB..8KiB", [1024, 2048, 4096, 8192]),
        ("1KiB..64KiB:4", [1024, 4096, 16384, 65536]),
        ("8..100:10,3", [3, 8, 80]),
        ("3..20", [3, 6, 12]),
        ("5..5", [5]),
    ],
)
def test_sizes(text: str, sizes: list[int]) -> None:
    assert units.parse_sizes(text) == sizes


@pytest.mark.parametrize("text", ["0", "1KiB,0", "8..4", "0..4", "1..4:1", "1..4:x", "1..4:", "1,,2", "..4"])
def test_what_is_no_list_of_sizes(text: str) -> None:
    with pytest.raises(StrettoError):
        units.parse_sizes(text)


@given(st.integers(min_value=0, max_value=1 << 45))
def test_a_size_that_was_written_reads_the_same(size: int) -> None:
    assert units.parse_bytes(units.format_bytes(size)) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1000, "1000 B"),
        (1024, "1 KiB"),
        (3 << 19, "1.5 MiB"),
        (1025, "1025 B"),
        (64 << 20, "64 MiB"),
    ],
)
def test_format_bytes(size: int, text: str) -> None:
    assert units.format_bytes(size) == text


@pytest.mark.parametrize(
    ("text", "rate"),
    [("200mbit", 25e6), ("1gbit", 125e6), ("500kbit", 62500.0), ("8bit", 1.0), ("1.5Gbit", 187.5e6)],
)
def test_rate(text: str, rate: float) -> None:
    assert units.parse_rate(text) == rate
    assert units.parse_rate(units.format_rate(rate)) == rate


@pytest.mark.parametrize("text", ["200", "200MB", "0mbit", "mbit", "fast"])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(StrettoError, match="is not a link rate"):
        units.parse_rate(text)


@pytest.mark.parametrize(
    ("seconds", "factor", "unit"),
    [
        (2.0, 1.0, "s"),
        (0.5, 1e-3, "ms"),
        (0.99996, 1.0, "s"),
        (3e-4, 1e-6, "µs"),
        (4e-9, 1e-9, "ns"),
        (0.0, 1e-9, "ns"),
    ],
)
def test_seconds_unit(seconds: float, factor: float, unit: str) -> None:
    assert units.seconds_unit(seconds) == (factor, unit)


@pytest.mark.parametrize(
    ("text", "seconds", "again"),
    [
        ("1ms", 1e-3, "1 ms"),
        ("0.25 ms", 250e-6, "250 µs"),
        ("100us", 1e-4, "100 µs"),
        ("1.5s", 1.5, "1.5 s"),
        ("5m", 300, "300 s"),
        ("2 min", 120, "120 s"),
        ("0.5h", 1800, "1800 s"),
    ],
)
def test_seconds(text: str, seconds: float, again: str) -> None:
    assert units.parse_seconds(text) == pytest.approx(seconds)
    assert units.format_seconds(seconds) == again


@pytest.mark.parametrize("text", ["", "1", "ms", "0ms", "-1ms", "1d"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(StrettoError, match="is not a time"):
        units.parse_seconds(text)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.5, "0.50"), (9.994, "9.99"), (9.996, "10.0"), (99.94, "99.9"), (99.96, "100"), (1234, "1234")],
)
def test_three_digits(number: float, text: str) -> None:
    assert units.three_digits(number) == text


@pytest.mark.parametrize(
    ("text", "ranks"), [("8", range(8, 9)), ("1..64", range(1, 65)), (" 2 .. 3 ", range(2, 4))]
)
def test_ranks(text: str, ranks: range) -> None:
    assert units.parse_ranks(text) == ranks


@pytest.mark.parametrize("text", ["", "0", "3..2", "a..b", "1..", "-1", "1...3"])
def test_what_is_no_range_of_ranks(text: str) -> None:
    with pytest.raises(StrettoError, match="--ranks"):
        units.parse_ranks(text)
