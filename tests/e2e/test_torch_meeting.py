# SPDX-License-Identifier: Apache-2.0
"""How jobs of the backend "stretto" without MPI begin, under launchers of all kinds, and who is kept out."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.stranger import is_admitted, siphash
from tests.e2e.torch_starting import PYTHON, torchrun
from tests.outage import outage

from stretto.lab.cluster import Lab
from stretto.lab.links import Links
from stretto.torch import job_secret

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

FOLDER = Path(__file__).parent
SECONDS = 200
Run = Callable[[Sequence[str], dict[str, str], float], str]
# Its stubs do not have all.
dist: Any = importlib.import_module("torch.distributed")


@pytest.fixture
def quiet(cache: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The settings of ranks."""
    more = {"PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", "MEETING": str(tmp_path / "meeting")}
    return {**cache, **more}


def case(name: str) -> list[str]:
    return [str(FOLDER / "torch_meeting.py"), name]


@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.long)])
@pytest.mark.timeout(900)
def test_a_rank_is_killed_while_the_job_begins(run_program: Run, quiet: dict[str, str], times: int) -> None:
    """The next attempt meets in the same store."""
    for _ in range(times):
        output = run_program(torchrun(3, case("restarted"), "--max-restarts", "2"), quiet, SECONDS)
        assert output.count("right") == 3


def test_threads_make_groups_of_the_same_ranks(run_program: Run, quiet: dict[str, str]) -> None:
    assert run_program(torchrun(2, case("alike names")), quiet, SECONDS).count("right") == 2


@pytest.mark.parametrize(
    ("name", "ranks", "settings"),
    [
        ("two worlds", 4, {}),
        ("two worlds", 4, {"BACKEND": "gloo", "STRETTO_REPLACE": "gloo"}),
        ("two worlds", 4, {"BEFORE": "stretto.torch"}),
        ("reversed ranks", 3, {}),
        ("spawning", 1, {}),
    ],
)
def test_an_mpi_launcher_above_other_ranks(
    local_ranks: Callable[[str], LocalRanks],
    quiet: dict[str, str],
    name: str,
    ranks: int,
    settings: Mapping[str, str],
) -> None:
    output = local_ranks("mpich").run(
        ranks, [*PYTHON, *case(name)], settings={**quiet, **settings}, seconds=SECONDS
    )
    assert output.count("right") == ranks


ALL_REDUCE = """
import torch, torch.distributed as dist
dist.init_process_group("stretto")
tensor = torch.ones(100_000)
dist.all_reduce(tensor)
assert torch.all(tensor == dist.get_world_size())
dist.destroy_process_group()
print("right")
"""


def start(rank: int, program: Sequence[str], settings: Mapping[str, str]) -> subprocess.Popen[str]:
    environment = {**os.environ, **settings, "RANK": str(rank), "WORLD_SIZE": "2"}
    return subprocess.Popen(
        program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def check_right(processes: Sequence[subprocess.Popen[str]]) -> None:
    try:
        for process in processes:
            output, _ = process.communicate(timeout=SECONDS)
            assert (process.returncode, output.count("right")) == (0, 1), output
    finally:
        for process in processes:
            process.kill()


def start_on_nodes(lab: Lab, name: str, settings: Mapping[str, str]) -> list[subprocess.Popen[str]]:
    """A rank of a case on each of two nodes."""
    here = {**settings, "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29500"}
    hosts = lab.require().hosts
    return [start(rank, lab.enter(host, [*PYTHON, *case(name)]), here) for rank, host in enumerate(hosts)]


def wait_until(holds: Callable[[], bool], ranks: Sequence[subprocess.Popen[str]]) -> None:
    """Wait for something that happens while all ranks live."""
    until = time.monotonic() + SECONDS
    while not holds():
        for rank in ranks:
            assert rank.poll() is None, rank.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)


def is_stopped(process: subprocess.Popen[str]) -> bool:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.parametrize(
    ("before", "error"),
    [("job", "not all 2 ranks arrived in time"), ("group", "not all ranks made the group")],
)
def test_a_rank_on_another_node_stops_after_the_meeting(
    quiet: dict[str, str], before: str, error: str
) -> None:
    """The time-out of init_process_group, 5 s, holds where the network would wait for 15 minutes."""
    with Lab.temporary(Links.even(2, "1gbit"), name=f"stretto-test{os.getpid()}") as lab:
        ranks = start_on_nodes(lab, "stopped", {**quiet, "BEFORE": before})
        try:
            wait_until(lambda: is_stopped(ranks[1]), ranks)
            output, _ = ranks[0].communicate(timeout=60)
        finally:
            for rank in ranks:
                with rank:
                    rank.kill()
        (line,) = (line for line in output.splitlines() if line.startswith("failed: "))
        assert error in line, line


@pytest.mark.long
@pytest.mark.parametrize("node", [0, 1])
def test_an_outage_while_no_rank_communicates(quiet: dict[str, str], node: int) -> None:
    with Lab.temporary(Links.even(2, "1gbit"), name=f"stretto-test{os.getpid()}") as lab:
        ranks = start_on_nodes(lab, "idle", quiet)
        try:
            idle = [Path(f"{quiet['MEETING']}-idle-{rank}") for rank in range(2)]
            wait_until(lambda: all(file.exists() for file in idle), ranks)
            with outage(lab, node):
                time.sleep(40)
            Path(f"{quiet['MEETING']}-goes-on").touch()
        finally:
            check_right(ranks)


def test_the_first_node_calls_itself_localhost(quiet: dict[str, str]) -> None:
    """As Kubernetes' operators have it."""
    with Lab.temporary(Links.even(2, "1gbit"), name=f"stretto-test{os.getpid()}") as lab:
        names = {0: "localhost", 1: "10.77.0.1"}
        check_right(
            [
                start(
                    rank,
                    lab.enter(lab.require().hosts[rank], [*PYTHON, "-c", ALL_REDUCE]),
                    {**quiet, "MASTER_ADDR": name, "MASTER_PORT": "29500"},
                )
                for rank, name in names.items()
            ]
        )


def test_the_strangers_hash_is_siphash() -> None:
    """The first vectors of its authors."""
    key = bytes(range(16))
    assert siphash(key, b"").hex() == "a3817f04ba25a8e66df67214c7550293"
    assert siphash(key, bytes(range(8))).hex() == "3b62a9ba6258f5610f83e264f31497b4"


def possible_secrets(value: bytes) -> set[bytes]:
    """All that may be a secret in a value of the store."""
    pieces = {value[begin : begin + 16] for begin in range(len(value) - 15)}
    return pieces | {bytes.fromhex(found.decode()) for found in re.findall(rb"[0-9a-f]{32}", value)}


@pytest.mark.parametrize("has_file", [False, True])
def test_who_reads_the_store_is_not_admitted(quiet: dict[str, str], tmp_path: Path, has_file: bool) -> None:
    """TCPStore tells everybody all keys. Who knows the user's file is admitted, as what it proves to be."""
    file = tmp_path / "secret"
    file.write_bytes(b"what only the user knows")
    file.chmod(0o600)
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    settings = {
        **quiet,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(server.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        **({"STRETTO_SECRET_FILE": str(file)} if has_file else {}),
    }
    program = [*PYTHON, str(FOLDER / "torch_by_store.py"), "visited"]
    ranks = [start(rank, program, settings) for rank in range(2)]
    try:
        meeting = dist.FileStore(quiet["MEETING"], -1)
        meeting.wait([f"begun/{rank}" for rank in range(2)], timedelta(seconds=SECONDS))
        values = {key: server.get(key) for key in server.list_keys()}
        (listening,) = (key for key in values if key.endswith("/stretto/address/0"))
        address, job = values[listening], listening.split("/")[-4]

        def enters(secret: bytes, to: int = 0) -> bool:
            return is_admitted(address, secret, rank=1, to=to, ranks=2, stream=1)

        for secret in set().union(*map(possible_secrets, values.values())):
            assert not enters(secret)
        right = job_secret._derive(file.read_bytes(), job)
        assert not enters(right, to=1)
        assert enters(right) == has_file
        meeting.set("visited", "")
        if not has_file:  # a visitor that was admitted has ended as no rank does
            check_right(ranks)
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()
