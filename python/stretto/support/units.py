# SPDX-License-Identifier: Apache-2.0
"""Reads and writes sizes, rates and times as people do."""

from __future__ import annotations

import re

from stretto.support.errors import StrettoError

_BYTE_UNITS = {
    "": 1, "b": 1,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
    "kb": 10**3, "mb": 10**6, "gb": 10**9,
}  # fmt: skip
_RATE_UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}
_SECONDS_UNITS = {"h": 3600.0, "min": 60.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}


def _split(text: str) -> tuple[str, str] | None:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", text)
    return (match[1], match[2].lower()) if match else None


def split_list(text: str) -> list[str]:
    """The parts between commas, except commas in parentheses: `ring,smp(ring,chain)` has two parts."""
    parts = [""]
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def parse_bytes(text: str) -> int:
    """The number of bytes of `4096`, `64KiB`, `1.5MiB` or `2MB` (powers of 1000)."""
    parts = _split(text)
    factor = _BYTE_UNITS.get(parts[1]) if parts else None
    if parts is None or factor is None:
        raise StrettoError(
            f"{text!r} is not a size: expected a number of bytes, or one with B, KiB, MiB, GiB, KB, MB or GB"
        )
    size = float(parts[0]) * factor
    if size != int(size):
        raise StrettoError(f"{text!r} is not a whole number of bytes")
    return int(size)


def parse_sizes(text: str) -> list[int]:
    """The sizes of a list with commas, in ascending order and each once.

    `A..B` stands for A, 2A, 4A, ... up to B, and `A..B:F` for A, FA, F²A, ...: `1KiB..64MiB:4,100MB`.
    """
    sizes: set[int] = set()
    for part in text.split(","):
        first, dots, rest = part.partition("..")
        if not dots:
            size = parse_bytes(part)
            if size < 1:
                raise StrettoError(f"{part!r}: expected a size of at least 1 byte")
            sizes.add(size)
            continue
        last, colon, factor_text = rest.partition(":")
        if colon and not re.fullmatch(r"\s*[0-9]+\s*", factor_text):
            raise StrettoError(f"{part!r}: the factor after ':' must be a whole number, e.g. 1KiB..64MiB:4")
        factor = int(factor_text) if colon else 2
        low, high = parse_bytes(first), parse_bytes(last)
        if low < 1 or high < low or factor < 2:
            raise StrettoError(f"{part!r}: expected A..B or A..B:F with 1 <= A <= B and F >= 2")
        while low <= high:
            sizes.add(low)
            low *= factor
    return sorted(sizes)


def format_bytes(size: int) -> str:
    """The shortest exact text: `64 KiB`, `1.5 MiB`, `1000 B`."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        number = f"{size / factor:.4g}"
        if size >= factor and len(number) <= 4 and float(number) * factor == size:
            return f"{number} {unit}"
    return f"{size} B"


def size_text(size: int) -> int | str:
    """A size as files have it: `"64KiB"` if it is a whole number of KiB, MiB or GiB, else the number."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return size


def parse_rate(text: str) -> float:
    """The bytes per second of a link rate as tc writes it: `200mbit`, `1gbit`."""
    parts = _split(text)
    factor = _RATE_UNITS.get(parts[1]) if parts else None
    if parts is None or factor is None or float(parts[0]) <= 0:
        raise StrettoError(f"{text!r} is not a link rate: expected one as tc writes it, e.g. 200mbit")
    return float(parts[0]) * factor / 8


def format_rate(bytes_per_second: float) -> str:
    """A link rate in bytes per second, as tc writes it: `200mbit`."""
    bits = bytes_per_second * 8
    for unit in ("tbit", "gbit", "mbit", "kbit"):
        if bits >= _RATE_UNITS[unit]:
            return f"{bits / _RATE_UNITS[unit]:g}{unit}"
    return f"{bits:g}bit"


def parse_seconds(text: str) -> float:
    """The seconds of `1ms`, `250us`, `0.5s`, `5m` (or `5min`) or `1h`."""
    parts = _split(text)
    factor = _SECONDS_UNITS.get(parts[1]) if parts else None
    if parts is None or factor is None or float(parts[0]) <= 0:
        raise StrettoError(f"{text!r} is not a time: expected one with h, m, s, ms or us, e.g. 1ms")
    return float(parts[0]) * factor


def format_seconds(seconds: float) -> str:
    """A time with the unit that suits it: `1 ms`, `250 µs`."""
    factor, unit = seconds_unit(seconds)
    return f"{seconds / factor:.4g} {unit}"


def seconds_unit(seconds: float) -> tuple[float, str]:
    """The unit that suits a time, and how many seconds it is."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        # A value that would round up to 1000 gets the next unit: 1.00.
        if seconds >= 0.9995 * factor:
            return factor, unit
    return 1e-9, "ns"


def three_digits(number: float) -> str:
    """The number rounded to three digits, but at the finest to hundredths, at the coarsest to ones."""
    if number >= 99.95:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


def short_seconds(seconds: float) -> str:
    """A time with three digits, as tables of measurements have it: `1.00 ms`, `250 µs`."""
    factor, unit = seconds_unit(seconds)
    return f"{three_digits(seconds / factor)} {unit}"


def format_range(low: float, high: float, unit: float = 1.0) -> str:
    """A range with three digits: `1.90-2.01`, or `1.90` if both ends have the same."""
    texts = [three_digits(value / unit) for value in (low, high)]
    return "-".join(dict.fromkeys(texts))


def format_percent(part: float, digits: int = 0, *, signed: bool = False) -> str:
    """A part of a whole: `83 %`; a difference has its sign, `+1.5 %`. What rounds to zero is never -0."""
    percent = round(100 * part, digits) + 0.0
    return f"{percent:{'+' if signed and percent else ''}.{digits}f} %"


def format_bandwidth(bytes_per_second: float) -> str:
    """The bandwidth in megabytes (10⁶ bytes) per second, with three digits and without the unit."""
    return three_digits(bytes_per_second / 1e6)


def format_nodes(nodes: int) -> str:
    """The number of nodes in words: `one node`, `8 nodes`."""
    return "one node" if nodes == 1 else f"{nodes} nodes"


def format_count(number: int, noun: str) -> str:
    """A number with a noun: `1 rank`, `16 ranks`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def format_place(ranks: int, nodes: int) -> str:
    """Where a job runs: `16 ranks on 4 nodes`, `2 ranks on one node`."""
    return f"{format_count(ranks, 'rank')} on {format_nodes(nodes)}"


def parse_ranks(text: str) -> range:
    """The numbers of ranks that `8` or `1..64` means."""
    match = re.fullmatch(r"\s*([0-9]+)\s*(?:\.\.\s*([0-9]+)\s*)?", text)
    if not match:
        raise StrettoError(f"--ranks {text}: expected a number or a range, e.g. 8 or 1..64")
    first, last = int(match[1]), int(match[2] or match[1])
    if first < 1 or last < first:
        raise StrettoError(f"--ranks {text}: expected a range A..B with 1 <= A <= B")
    return range(first, last + 1)
