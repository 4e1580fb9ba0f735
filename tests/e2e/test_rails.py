# SPDX-License-Identifier: Apache-2.0
"""Nodes with two links: both carry long calls, and no call fails while one is out of order."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.e2e.torch_starting import PYTHON

from stretto.lab.cluster import Lab
from stretto.lab.links import DOWN, DROP, UP, Links

PROGRAM = Path(__file__).parent / "torch_rails.py"
SECONDS = 100
ONE = 8 * 8.39e6 * 1.05 / 1e9
"""The seconds of a call on two nodes with one link of 1 Gbit/s: its bytes, and TCP's headers."""


class Ranks:
    """The ranks of torch_rails.py, one on each node, while they run."""

    def __init__(self, lab: Lab, stop: Path, settings: dict[str, str], interfaces: str) -> None:
        self._stop = stop
        common = {"MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29500", "STRETTO_INTERFACE": interfaces}
        hosts = lab.require().hosts
        self._outputs = [stop.with_name(f"{stop.name}-{rank}") for rank in range(len(hosts))]
        self._processes = []
        for rank, (host, output) in enumerate(zip(hosts, self._outputs, strict=True)):
            own = {"RANK": str(rank), "WORLD_SIZE": str(len(hosts)), "OMP_NUM_THREADS": "1"}
            with output.open("w") as file:
                process = subprocess.Popen(
                    lab.enter(host, [*PYTHON, str(PROGRAM), str(stop)]),
                    env={**os.environ, **settings, **common, **own},
                    stdout=file,
                    stderr=subprocess.STDOUT,
                )
            self._processes.append(process)

    def times(self, since: float = 0, until: float = float("inf")) -> list[float]:
        """The seconds of each call that ended between two times."""
        lines = [
            line.split()
            for line in self._outputs[0].read_text().splitlines(keepends=True)
            if line[-1] == "\n"
        ]
        calls = [(float(line[0]), float(line[1]) / 1e3) for line in lines if len(line) == 2]
        return [seconds for end, seconds in calls if since <= end < until]

    def wait_for(self, calls: int, since: float = 0) -> None:
        """Wait until so many calls have ended after a time."""
        until = time.monotonic() + SECONDS
        while len(self.times(since)) < calls:
            for process in self._processes:
                assert process.poll() is None, [output.read_text()[-3000:] for output in self._outputs]
            assert time.monotonic() < until
            time.sleep(0.05)

    def check_right(self) -> None:
        self._stop.touch()
        for process, output in zip(self._processes, self._outputs, strict=True):
            assert process.wait(SECONDS) == 0, output.read_text()[-3000:]
            assert output.read_text().splitlines()[-1] == "right"

    def kill(self) -> None:
        for process in self._processes:
            process.kill()


@contextmanager
def ranks_on(
    links: Links, folder: Path, settings: dict[str, str], interfaces: str = "eth0,eth1"
) -> Iterator[tuple[Lab, Ranks]]:
    with Lab.temporary(links, name=f"stretto-test{os.getpid()}-rails") as lab:
        ranks = Ranks(lab, folder / f"stop-{interfaces}", settings, interfaces)
        try:
            ranks.wait_for(5)
            yield lab, ranks
            ranks.check_right()
        finally:
            ranks.kill()


@pytest.mark.parametrize(("nodes", "cut"), [(2, [0]), (3, [1]), (3, [0, 2])])
@pytest.mark.timeout(300)
def test_no_call_fails_while_a_rail_is_out_of_order(
    cache: dict[str, str], tmp_path: Path, nodes: int, cut: Sequence[int]
) -> None:
    """`cut`: the nodes whose link is cut, by turns that of each rail."""
    with ranks_on(Links.even(nodes, "1gbit", rails=2), tmp_path, cache) as (lab, ranks):
        for state in (DOWN, DROP):
            for rail in (1, 0):
                lab.change(nodes=cut, rails=[rail], state=state)
                ranks.wait_for(5, since=time.time())
                lab.change(nodes=cut, rails=[rail], state=UP)
                ranks.wait_for(2, since=time.time())


@pytest.mark.measures
def test_both_rails_carry_long_calls(cache: dict[str, str], tmp_path: Path) -> None:
    with ranks_on(Links.even(2, "1gbit", rails=2), tmp_path, cache) as (lab, ranks):
        begin = time.time()
        ranks.wait_for(20, since=begin)
        both = statistics.median(ranks.times(begin))
        lab.change(nodes=[1], rails=[1], state=DOWN)
        begin = time.time()
        ranks.wait_for(20, since=begin)
        one = ranks.times(begin)
        lab.change(nodes=[1], rails=[1], state=UP)
        time.sleep(2)
        begin = time.time()
        ranks.wait_for(20, since=begin)
        again = statistics.median(ranks.times(begin))
    assert both < 0.65 * ONE
    assert statistics.median(one) < 1.1 * ONE
    assert max(one) < ONE + 0.2
    assert again < 0.65 * ONE
