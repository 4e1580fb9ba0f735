# SPDX-License-Identifier: Apache-2.0
"""The backend "stretto" without MPI: under torchrun, and in ranks that are started in another way."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.torch_starting import PYTHON, torchrun

from stretto.explain.choices import find_claims, read_job_table
from stretto.model.fabric_file import read_fabric
from stretto.model.walker import Call
from stretto.spec.native import SOCKETS
from stretto.support.paths import find_command

if TYPE_CHECKING:
    from tests.e2e.conftest import LocalRanks

FOLDER = Path(__file__).parent
SECONDS = 200
Run = Callable[[Sequence[str], dict[str, str], float], str]


def line_of(ranks: int, program: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    """The command line, as users write it."""
    return torchrun(ranks, [str(FOLDER / program), *arguments], *options)


@pytest.fixture
def quiet(cache: dict[str, str]) -> dict[str, str]:
    """The settings of ranks."""
    return {**cache, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", "STRETTO_QUIET": "1"}


def lines_of_right(output: str) -> int:
    # Ranks write at once.
    return output.count("right")


@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.long)])
def test_every_collective_is_right(run_program: Run, quiet: dict[str, str], ranks: int) -> None:
    output = run_program(line_of(ranks, "torch_collectives.py"), quiet, SECONDS)
    assert lines_of_right(output) == ranks


@pytest.mark.parametrize(
    ("part", "ranks"),
    [
        ("collectives", 2),
        ("streams", 2),
        *(
            pytest.param(part, ranks, marks=pytest.mark.long)
            for part, ranks in (("training", 2), ("refused", 2), ("collectives", 3), ("streams", 3))
        ),
    ],
)
def test_tensors_on_a_device(
    run_program: Run, quiet: dict[str, str], device: Path, part: str, ranks: int
) -> None:
    """Connections carry host memory only, so messages between two ranks are staged, too."""
    line = line_of(ranks, "torch_on_device.py", str(device), part)
    output = run_program(line, {**quiet, "LD_LIBRARY_PATH": str(device)}, SECONDS)
    assert lines_of_right(output) == ranks


@pytest.mark.long
@pytest.mark.parametrize(("words", "ranks"), [("torch_above.py", 3), ("torch_training.py bf16", 2)])
def test_what_pytorch_builds_on_a_backend_works(
    run_program: Run, quiet: dict[str, str], words: str, ranks: int
) -> None:
    assert lines_of_right(run_program(line_of(ranks, *words.split()), quiet, SECONDS)) == ranks


def test_torchrun_restarts_ranks(run_program: Run, quiet: dict[str, str], tmp_path: Path) -> None:
    line = line_of(2, "torch_by_store.py", "restarted", options=["--max-restarts", "1"])
    output = run_program(line, {**quiet, "MEETING": str(tmp_path / "meeting")}, SECONDS)
    assert lines_of_right(output) == 2


# A rank that calls until it is killed, or until one is missing.
ELASTIC = """
import itertools, os, sys, torch, torch.distributed as dist
dist.init_process_group("stretto")
size = dist.get_world_size()
open(f"{sys.argv[1]}/{size}-{dist.get_rank()}", "w")
for call in itertools.count():
    total = torch.ones(1000)
    dist.all_reduce(total)
    assert torch.all(total == size)
    if size == 2 and call == 20:
        break
dist.destroy_process_group()
os.write(1, b"right\\n")
"""


@pytest.mark.long
def test_torchrun_goes_on_without_a_node(quiet: dict[str, str], tmp_path: Path) -> None:
    """A node's agent is killed with its ranks. The other agents start their ranks anew, as a smaller job."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "elastic.py").write_text(ELASTIC)
    agents = []
    with contextlib.ExitStack() as stack:
        for node in range(3):
            meeting = f"is_host={int(node == 0)},last_call_timeout=5,keep_alive_interval=1"
            line = [*PYTHON, "-m", "torch.distributed.run", "--nnodes", "1:4", "--nproc-per-node", "1"]
            line += ["--max-restarts", "3", "--rdzv-backend", "c10d", "--rdzv-conf", meeting]
            line += ["--rdzv-endpoint", f"127.0.0.1:{port}", "--local-addr", "127.0.0.1"]
            line += [str(tmp_path / "elastic.py"), str(tmp_path)]
            agent = subprocess.Popen(
                line, env={**os.environ, **quiet}, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
            stack.enter_context(agent)
            stack.callback(agent.kill)
            agents.append(agent)
        until = time.monotonic() + SECONDS
        while not all((tmp_path / f"3-{rank}").exists() for rank in range(3)):
            assert time.monotonic() < until
            time.sleep(0.1)
        lost = agents.pop()
        # torchrun starts its ranks in sessions of their own.
        ranks = Path(f"/proc/{lost.pid}/task/{lost.pid}/children").read_text().split()
        for process in [lost.pid, *map(int, ranks)]:
            os.kill(process, signal.SIGKILL)
        outputs = [one.communicate(timeout=SECONDS)[0] for one in agents]
    assert [(one.returncode, output) for one, output in zip(agents, outputs, strict=True)] == [
        (0, "right\n")
    ] * 2


def run_ranks(
    ranks: int, case: str, settings: Mapping[str, str], folder: Path, before: Sequence[str] = ()
) -> list[subprocess.CompletedProcess[str]]:
    """Starts ranks as a shell would. Returns how they have ended."""
    program = [*before, *PYTHON, str(FOLDER / "torch_by_store.py"), case]
    started = [
        subprocess.Popen(
            program,
            env={
                **os.environ,
                **settings,
                "RANK": str(rank),
                "WORLD_SIZE": str(ranks),
                "MASTER_ADDR": "127.0.0.1",
                "MEETING": str(folder / "meeting"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(ranks)
    ]
    with contextlib.ExitStack() as stack:
        for one in started:
            stack.callback(one.kill)
        outputs = [one.communicate(timeout=SECONDS)[0] for one in started]
    return [
        subprocess.CompletedProcess(program, one.returncode, output)
        for one, output in zip(started, outputs, strict=True)
    ]


def check_right(ended: subprocess.CompletedProcess[str]) -> None:
    # A thread may write its error at the same time.
    assert (ended.returncode, lines_of_right(ended.stdout)) == (0, 1), ended.stdout


@pytest.mark.parametrize(
    ("case", "ranks"),
    [
        ("again", 2),
        ("held", 2),
        ("fewer", 3),
        ("first groups", 4),
        ("late", 3),
        ("overdue", 3),
        ("aborted", 2),
        ("monitored", 3),
        ("daemon", 2),
        ("stores", 1),
    ],
)
def test_jobs_begin_fail_and_begin_again(
    quiet: dict[str, str], tmp_path: Path, case: str, ranks: int
) -> None:
    for ended in run_ranks(ranks, case, quiet, tmp_path):
        check_right(ended)


@pytest.mark.parametrize(("watchdog", "lines"), [("auto", 2), ("", 1), ("0", 0)])
def test_a_rank_that_is_stuck_is_named(
    quiet: dict[str, str], tmp_path: Path, watchdog: str, lines: int
) -> None:
    """By all others if the user asks for it, else by one of them."""
    ended = run_ranks(3, "stuck", {**quiet, "STRETTO_WATCHDOG": watchdog}, tmp_path)
    for one in ended:
        check_right(one)
    named = "(rank 2 has not called it; its last call here began "
    assert sum(named in one.stdout for one in ended) == lines


@pytest.mark.parametrize("kept", ["10", "0", None])
def test_pytorchs_flight_recorder_has_the_calls(
    quiet: dict[str, str], tmp_path: Path, kept: str | None
) -> None:
    settings = quiet if kept is None else {**quiet, "TORCH_FR_BUFFER_SIZE": kept}
    for ended in run_ranks(3, "recorded", settings, tmp_path):
        check_right(ended)
    if kept != "0":
        tool = [*PYTHON, "-m", "torch.distributed.flight_recorder.fr_trace", str(tmp_path / "dumps")]
        found = subprocess.run(tool, capture_output=True, text=True, timeout=SECONDS)
        told = found.stdout + found.stderr
        assert "input sizes: [[2, 3]]" in told, told
        assert "missing ranks: {2}" in told, told


def test_a_timeout_adapts_to_the_steps(quiet: dict[str, str], tmp_path: Path) -> None:
    for ended in run_ranks(3, "left alone", {**quiet, "STRETTO_TIMEOUT": "auto"}, tmp_path):
        check_right(ended)


@pytest.mark.parametrize(("case", "status"), [("killed", -signal.SIGKILL), ("exception", 1)])
def test_a_rank_that_fails(quiet: dict[str, str], tmp_path: Path, case: str, status: int) -> None:
    *others, last = run_ranks(3, case, quiet, tmp_path)
    assert last.returncode == status
    for ended in others:
        check_right(ended)


@pytest.mark.parametrize("backend", ["stretto", pytest.param("gloo", marks=pytest.mark.long)])
def test_a_group_goes_on_with_those_left(quiet: dict[str, str], tmp_path: Path, backend: str) -> None:
    settings = {**quiet, "BACKEND": backend, "STRETTO_REPLACE": "" if backend == "stretto" else backend}
    *others, last = run_ranks(3, "shrinking", settings, tmp_path)
    check_right(last)
    assert [ended.returncode for ended in others] == [-signal.SIGKILL] * 2


def test_a_training_goes_on_with_those_left(run_program: Run, quiet: dict[str, str]) -> None:
    example = FOLDER.parents[1] / "examples" / "train_digits_shrinking.py"
    line = [*PYTHON, str(example), "--ranks", "3", "--steps", "20", "--kill", "5,12"]
    output = run_program(line, quiet, SECONDS)
    assert "3 ranks, 1 left after 20 steps" in output
    found = re.search(r"The losses of a step differ by (\S+) at most", output)
    assert found
    assert float(found[1]) < 1e-5


def test_a_group_goes_on_without_those_that_the_program_names(quiet: dict[str, str], tmp_path: Path) -> None:
    *others, last = run_ranks(4, "shrunk by name", quiet, tmp_path)
    assert last.returncode == -signal.SIGKILL
    for ended in others:
        check_right(ended)


def test_ranks_that_do_not_see_each_others_processes(quiet: dict[str, str], tmp_path: Path) -> None:
    """Containers on one node do not. A rank that failed to share its memory would say so."""
    alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    for ended in run_ranks(3, "again", quiet, tmp_path, alone):
        check_right(ended)
        assert "shared memory does not work" not in ended.stdout, ended.stdout


def test_all_name_the_rank_that_was_lost_first(quiet: dict[str, str], tmp_path: Path) -> None:
    *others, last = run_ranks(5, "ending", quiet, tmp_path)
    assert last.returncode == -signal.SIGKILL
    for ended in others:
        assert (ended.returncode, lines_of_right(ended.stdout)) == (1, 1), ended.stdout


def replacing(line: Sequence[str]) -> list[str]:
    return [str(find_command()), "run", "--replace", "gloo", "--", *line]


def test_it_does_what_gloo_does_in_its_place(run_program: Run, quiet: dict[str, str]) -> None:
    output = run_program(replacing(line_of(2, "torch_in_place_of_gloo.py")), quiet, SECONDS)
    assert lines_of_right(output) == 2


@pytest.mark.parametrize("transport", ["TCP_TLS", "ibverbs", "TCP"])
def test_no_transport_is_replaced_by_another(quiet: dict[str, str], transport: str) -> None:
    """PyTorch's own builds have no encryption: gloo says so itself, with or without Stretto."""
    code = """
import torch, torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
print(dist.group.WORLD._get_backend(torch.device("cpu")).name())
dist.destroy_process_group()
"""
    settings = {**quiet, "GLOO_DEVICE_TRANSPORT": transport}
    by_gloo, replaced = said(code, settings), said(code, {**settings, "STRETTO_REPLACE": "gloo"})
    line = f"stretto: GLOO_DEVICE_TRANSPORT={transport}: Stretto has no such transport; gloo stays"
    if transport == "TCP":
        assert (by_gloo.stdout, replaced.stdout, replaced.stderr) == ("gloo\n", "stretto\n", "")
    else:
        assert replaced.returncode == by_gloo.returncode != 0
        assert "unsupported gloo device" in replaced.stderr
        assert replaced.stderr.count(line) == 1


# Runs a program on a host whose name has no address.
UNNAMED = ["unshare", "--user", "--map-root-user", "--uts", "sh", "-c", 'hostname nowhere; exec "$@"', "sh"]


def test_a_host_whose_name_has_no_address(quiet: dict[str, str]) -> None:
    """Gloo itself would look for the address, and warn."""
    code = """
import torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
dist.destroy_process_group()
print("right")
"""
    ended = subprocess.run(
        [*UNNAMED, *PYTHON, "-c", code],
        env={**os.environ, **quiet, "STRETTO_REPLACE": "gloo"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert (ended.stdout, ended.stderr) == ("right\n", "")


@pytest.mark.parametrize("is_quiet", [False, True])
def test_one_line_at_the_start_says_who_carries_the_job(
    run_program: Run, quiet: dict[str, str], is_quiet: bool
) -> None:
    settings = {**quiet, "STRETTO_QUIET": "1" if is_quiet else "0"}
    output = run_program(replacing(line_of(2, "torch_in_place_of_gloo.py")), settings, SECONDS)
    said = (
        "stretto: Stretto carries this job's calls of torch.distributed: 2 ranks, by connections of its own"
    )
    assert output.count(said) == (0 if is_quiet else 1), output


def test_behind_a_launcher_too(run_program: Run, quiet: dict[str, str]) -> None:
    program = str(FOLDER / "torch_in_place_of_gloo.py")
    line = torchrun(2, [str(find_command()), "exec", "--replace", "gloo", *PYTHON, program])
    assert lines_of_right(run_program(line, quiet, SECONDS)) == 2


CALLS = """
import sys, torch, torch.distributed as dist
dist.init_process_group("stretto")
ranks = dist.get_world_size()
for elements in (2, 100, 3000, 70_000, 1 << 20):
    whole, part = torch.ones(ranks * elements), torch.ones(elements)
    dist.all_reduce(whole)
    dist.broadcast(whole, 0)
    dist.reduce(whole, 0)
    dist.all_gather_into_tensor(whole, part)
    dist.reduce_scatter_tensor(part, whole)
dist.destroy_process_group()
"""


FORCED = {"STRETTO_ALLREDUCE": "ring:segments=2", "STRETTO_REDUCE": "native", "STRETTO_BCAST": "chain"}


@pytest.mark.parametrize(
    ("choice", "topology"),
    [
        ({}, "nodes=4,ppn=1"),
        ({}, "nodes=1,ppn=4"),
        (FORCED, "nodes=2,ppn=2"),
        ({"STRETTO_ONLINE": "0"}, "nodes=4,ppn=1"),
    ],
    ids=["model", "one node", "forced and refused", "rule"],
)
def test_explain_knows_what_a_job_takes(
    quiet: dict[str, str], run_program: Run, tmp_path: Path, topology: str, choice: dict[str, str]
) -> None:
    program, stats = tmp_path / "calls.py", tmp_path / "stats.json"
    program.write_text(CALLS, encoding="utf-8")
    settings = {**quiet, **choice, "STRETTO_TOPOLOGY": topology, "STRETTO_STATS": str(stats)}
    settings["STRETTO_FABRIC"] = str(tmp_path / "fabric.json")
    run_program(torchrun(4, [str(program)]), settings, SECONDS)
    calls = json.loads(stats.read_text())["calls"]
    assert len(calls) == 25
    table = read_job_table(None, SOCKETS)
    fabric = Path(settings["STRETTO_FABRIC"])
    known = read_fabric(fabric) if fabric.exists() else None
    for call in calls:
        asked = Call(call["collective"], call["bytes_from"], topology)
        claims = find_claims(asked, table, {**os.environ, **settings}, known, has_library=False)
        decides = next(one for one in claims if one.decides)
        assert decides.spec == call["spec"], (call, decides)


@pytest.mark.long
def test_the_benchmark_of_a_decoder_compares_backends(
    quiet: dict[str, str], run_program: Run, tmp_path: Path
) -> None:
    program, file = FOLDER.parents[1] / "benchmarks" / "torch_decode.py", tmp_path / "decode.json"
    options = ["--batches", "2", "--tokens", "3", "--json", str(file)]
    assert "gloo / stretto" in run_program(torchrun(2, [str(program), *options]), quiet, SECONDS)
    seconds = json.loads(file.read_text(encoding="utf-8"))["seconds"]["2"]
    assert {name: len(times) for name, times in seconds.items()} == {"stretto": 3, "gloo": 3}


@pytest.mark.long
def test_every_collective_is_right_in_place_of_gloo(run_program: Run, quiet: dict[str, str]) -> None:
    output = run_program(replacing(line_of(3, "torch_collectives.py", "gloo")), quiet, SECONDS)
    assert lines_of_right(output) == 3


# A rank of an MPI launcher, with a store.
CHOSEN = """
import os, sys, torch, stretto.torch
from stretto.torch.extension import load_extension
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
store = torch.distributed.FileStore(sys.argv[1], 2)
torch.distributed.init_process_group("stretto", store=store, rank=rank, world_size=2)
torch.distributed.all_reduce(torch.ones(9))
os.write(1, f"by sockets: {load_extension().is_in_store_job()}\\n".encode())  # at once
torch.distributed.destroy_process_group()
"""


@pytest.mark.long
@pytest.mark.parametrize(("network", "is_sockets"), [("sockets", True), ("mpi", False), ("auto", False)])
def test_the_network_is_chosen_where_both_are_possible(
    local_ranks: Callable[[str], LocalRanks],
    quiet: dict[str, str],
    tmp_path: Path,
    network: str,
    is_sockets: bool,
) -> None:
    program = [*PYTHON, "-c", CHOSEN, str(tmp_path / "store")]
    output = local_ranks("openmpi").run(2, program, settings={**quiet, "STRETTO_NETWORK": network})
    assert output.count(f"by sockets: {is_sockets}") == 2


@pytest.mark.long
def test_mpirun_may_start_torchrun(
    local_ranks: Callable[[str], LocalRanks], quiet: dict[str, str], tmp_path: Path
) -> None:
    line = line_of(2, "torch_by_store.py", "restarted", options=["--max-restarts", "1"])
    settings = {**quiet, "MEETING": str(tmp_path / "meeting")}
    assert lines_of_right(local_ranks("openmpi").run(1, line, settings=settings)) == 2


def said(code: str, settings: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a process alone. Returns its output."""
    environment = {**os.environ, **(settings or {})}
    return subprocess.run(
        [*PYTHON, "-c", code], env=environment, capture_output=True, text=True, timeout=SECONDS
    )


def test_import_torch_registers_it_and_loads_nothing() -> None:
    code = """
import sys, torch
assert "stretto" in torch.distributed.Backend.backend_list
print(*sorted(name for name in sys.modules if name.startswith("stretto")))
"""
    ended = said(code)
    assert (ended.stdout, ended.stderr) == ("stretto stretto.autoload stretto.autoload.entry\n", "")


def test_other_backends_stay_as_they_were() -> None:
    """A group "cpu:gloo" has gloo as its default backend, although PyTorch knows one that is not its own."""
    code = """
import torch.distributed as dist
dist.init_process_group("cpu:gloo", store=dist.HashStore(), rank=0, world_size=1)
print(dist.group.WORLD.name())
dist.destroy_process_group()
"""
    ended = said(code)
    assert (ended.stdout, ended.stderr) == ("gloo\n", "")


@pytest.mark.parametrize("name", ["STRETTO_REPLACE", "STRETTO_NETWORK"])
def test_a_wrong_setting_is_one_line(quiet: dict[str, str], name: str) -> None:
    code = """
import torch.distributed as dist
for _ in range(2):
    dist.init_process_group("stretto", store=dist.HashStore(), rank=0, world_size=1)
    dist.destroy_process_group()
print("right")
"""
    ended = said(code, {**quiet, name: "nccl"})
    assert ended.stdout == "right\n"
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"stretto: {name}: must be ")
    assert 'not "nccl"' in line
    ended = said(code, {**quiet, name: "nccl", "STRETTO_STRICT": "1"})
    assert ended.returncode != 0
    assert f"{name}: must be " in ended.stderr
