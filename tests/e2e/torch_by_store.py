# SPDX-License-Identifier: Apache-2.0
"""Jobs of the backend "stretto" without MPI, by cases: how they begin, end, fail and begin again.

A rank's program, which imports only torch. Ranks meet in a store of their own, whatever the job does.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch.multiprocessing

import torch
from stretto.support.errors import StrettoError

# Not exported as mypy wants it.
dist: Any = importlib.import_module("torch.distributed")

BACKEND = os.environ.get("BACKEND", "stretto")
# For what must end, on a machine where others compute.
LONG = timedelta(seconds=120)
SHORT = timedelta(seconds=2)


class Ranks:
    """The ranks of the program, apart from what is tested."""

    def __init__(self) -> None:
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        file = Path(os.environ["MEETING"])
        self.store = dist.FileStore(str(file), -1)
        self.last = self.size - 1
        self.is_last = self.rank == self.last

    def meet(self, name: str, ranks: range | None = None) -> None:
        """Wait for all of them."""
        self.store.set(f"{name}/{self.rank}", "")
        self.store.wait([f"{name}/{rank}" for rank in ranks or range(self.size)], LONG)


def begin(ranks: Ranks, timeout: timedelta = LONG) -> None:
    """Begin a job. All jobs have the same store."""
    dist.init_process_group(
        BACKEND, store=ranks.store, rank=ranks.rank, world_size=ranks.size, timeout=timeout
    )


def check_total(ranks: int, group: Any = None) -> None:
    """The job works."""
    tensor = torch.ones(1000)
    dist.all_reduce(tensor, group=group)
    assert torch.all(tensor == ranks), tensor


def refusal(call: Callable[[], Any]) -> str:
    """The line of an error."""
    try:
        call()
    except (RuntimeError, StrettoError) as error:
        return str(error).splitlines()[0]
    raise SystemExit("it was not refused")


def again(ranks: Ranks) -> None:
    """One job after the other, with groups, and with calls in flight when the last group is destroyed."""
    for _ in range(3):
        begin(ranks)
        check_total(ranks.size)
        members = list(range(ranks.size))[::-1][:2]
        group = dist.new_group(members)
        if ranks.rank in members:
            check_total(2, group)
        tensor = torch.ones(100_000)
        work = dist.all_reduce(tensor, async_op=True)
        dist.destroy_process_group()
        work.wait()
        assert torch.all(tensor == ranks.size)
    # A call that cannot end fails, and its buffer is free.
    begin(ranks)
    tensor = torch.ones(10)
    work = dist.irecv(tensor, (ranks.rank + 1) % ranks.size)
    ranks.meet("in flight")
    dist.destroy_process_group()
    line = refusal(work.wait)
    assert "recv of 40 bytes" in line, line
    tensor.fill_(7)
    begin(ranks)
    check_total(ranks.size)
    assert torch.all(tensor == 7)


def held(ranks: Ranks) -> None:
    """Who holds a group that was destroyed may use it, as with gloo, until another job begins."""
    begin(ranks)
    default, group = dist.group.WORLD, dist.new_group()
    tensor = torch.ones(10)
    work = group.allreduce([tensor]) if ranks.rank == 0 else None
    dist.destroy_process_group()
    ranks.meet("destroyed")
    if work is None:
        work = group.allreduce([tensor])
    work.wait()
    assert torch.all(tensor == ranks.size)
    default.allreduce([tensor]).wait()
    assert torch.all(tensor == ranks.size**2)
    begin(ranks)
    check_total(ranks.size)
    line = refusal(lambda: default.allreduce([tensor]))
    assert "was destroyed" in line, line
    dist.destroy_process_group()
    begin(ranks)
    check_total(ranks.size)


def fewer(ranks: Ranks) -> None:
    """Jobs of other ranks, and of other numbers of them, as after a change of nodes."""
    begin(ranks)
    check_total(ranks.size)
    dist.destroy_process_group()
    if ranks.is_last:
        return
    reverse = ranks.last - 1 - ranks.rank
    dist.init_process_group(BACKEND, store=ranks.store, rank=reverse, world_size=ranks.last)
    assert (dist.get_rank(), dist.get_world_size()) == (reverse, ranks.last)
    check_total(ranks.last)


def first_groups(ranks: Ranks) -> None:
    """Groups of this backend beside a default group of another one."""
    dist.init_process_group("gloo", store=ranks.store, rank=ranks.rank, world_size=ranks.size)
    halves = [dist.new_group(half, backend=BACKEND) for half in ([0, 1], [2, 3])]
    check_total(2, halves[ranks.rank // 2])
    # Each half is a job now, and a process can be in one only.
    line = refusal(lambda: dist.new_group(backend=BACKEND))
    assert "did not have all of its ranks" in line, line
    for half in halves:
        if half != dist.GroupMember.NON_GROUP_MEMBER:
            dist.destroy_process_group(half)
    check_total(ranks.size, dist.new_group(backend=BACKEND))


def late(ranks: Ranks) -> None:
    """A rank comes too late, and the others learn which. Then all come."""
    if ranks.is_last:
        ranks.meet("late", range(ranks.last))
    line = refusal(lambda: begin(ranks, SHORT))
    who = "rank 0 has not answered" if ranks.is_last else f"rank {ranks.last} did not arrive"
    assert f"within 2 s: {who}" in line, line
    ranks.meet("late")
    begin(ranks)
    check_total(ranks.size)
    if not ranks.is_last:
        line = refusal(lambda: dist.new_group(timeout=SHORT))
        assert f"rank {ranks.last} did not arrive" in line, line
        assert "process group 2" in line, line


def overdue(ranks: Ranks) -> None:
    """A rank makes no call. All calls of the job fail, and their buffers are free. A new job works."""
    begin(ranks, SHORT)
    dist.barrier()
    if ranks.is_last:
        ranks.meet("overdue")
        line = refusal(lambda: check_until_failure(ranks.size))
        assert "has not ended after a timeout of 2 s" in line, line
    else:
        tensors = [torch.ones(count) for count in (1000, 3_000_000)]
        works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
        message = dist.irecv(torch.empty(5), ranks.last)
        # A wait may be shorter, and then go on.
        line = refusal(lambda: works[1].wait(timedelta(milliseconds=100)))
        assert "has not ended after a timeout of 100 ms" in line, line
        for wait in (works[0].wait, works[1].get_future().wait, message.wait):
            line = refusal(wait)
            assert "has not ended after a timeout of 2 s" in line, line
            assert "of process group" in line, line
        for wait in (works[0].wait, works[1].wait):
            assert f"rank {ranks.last} has not called it" in refusal(wait)
        for tensor in tensors:
            tensor.fill_(7)
        ranks.meet("overdue")
        assert "has not ended" in refusal(lambda: check_total(ranks.size))
        assert all(torch.all(tensor == 7) for tensor in tensors)
    dist.destroy_process_group()
    begin(ranks)
    check_total(ranks.size)


def take_like_steps(ranks: Ranks) -> None:
    for _ in range(20):
        time.sleep(0.05)
        check_total(ranks.size)


def stuck(ranks: Ranks) -> None:
    """A rank comes very late, after steps that are all alike."""
    begin(ranks)
    take_like_steps(ranks)
    if ranks.is_last:
        time.sleep(8)
    check_total(ranks.size)


def recorded(ranks: Ranks) -> None:
    """PyTorch's Flight Recorder has the latest calls, and where they were made.

    The last rank makes one less.
    """
    begin(ranks, SHORT)
    for call in range(25):
        dist.all_reduce(torch.ones(call))
    if not ranks.is_last:
        refusal(lambda: dist.all_reduce(torch.ones(2, 3)))
    its: Any = torch._C._distributed_c10d
    content = its._dump_fr_trace()
    folder = Path(os.environ["MEETING"]).with_name("dumps")
    folder.mkdir(exist_ok=True)
    (folder / f"rank_{ranks.rank}").write_bytes(content)
    entries = pickle.loads(content).get("entries", [])
    kept = {"10": 10, "0": 0}.get(os.environ.get("TORCH_FR_BUFFER_SIZE", ""), 25 + (not ranks.is_last))
    assert len(entries) == kept
    assert len(json.loads(its._dump_fr_trace_json()).get("entries", [])) == kept
    assert len(pickle.loads(its._dump_fr_trace(onlyActive=True))["entries"]) == (
        kept > 0 and not ranks.is_last
    )
    for entry in entries:
        places = [frame["name"] for frame in entry["frames"]]
        assert ("recorded" in places) == (kept == 10)
        assert entry["state"] == ("completed" if entry["collective_seq_id"] <= 25 else "scheduled")
    if kept:
        last = entries[-1 if ranks.is_last else -2]
        assert (last["profiling_name"], last["input_sizes"]) == ("gloo:all_reduce", [[24]])
    ranks.meet("recorded")


def left_alone(ranks: Ranks) -> None:
    """A rank does not come, and the others do not wait as long as the timeout."""
    begin(ranks)
    take_like_steps(ranks)
    if not ranks.is_last:
        line = refusal(lambda: check_total(ranks.size))
        assert "far longer than the steps before it (STRETTO_TIMEOUT=auto)" in line, line
        assert f"rank {ranks.last} has not called it" in line, line
    ranks.meet("left alone")


def check_until_failure(size: int) -> None:
    """The news of a failure may still be on its way."""
    while True:
        check_total(size)


def killed(ranks: Ranks) -> None:
    """A rank dies. The others learn which, and continue without it."""
    begin(ranks)
    check_total(ranks.size)
    ranks.meet("before the end")  # a call that is under way would fail, too
    if ranks.is_last:
        os.kill(os.getpid(), signal.SIGKILL)
    for _ in range(2):
        line = refusal(lambda: check_until_failure(ranks.size))
        assert f"rank {ranks.last}" in line, line
    dist.destroy_process_group()
    dist.init_process_group(BACKEND, store=ranks.store, rank=ranks.rank, world_size=ranks.last)
    check_total(ranks.last)
    dist.destroy_process_group()
    ranks.meet("without", range(ranks.last))


def shrinking(ranks: Ranks) -> None:
    """One rank after the other is killed, and the others go on in the same processes."""
    shrink = importlib.import_module("stretto.torch").shrink
    begin(ranks)
    for size in range(ranks.size, 1, -1):
        part = dist.new_group([0, size - 1])
        if dist.get_rank() in (0, size - 1):
            check_total(2, part)
        check_total(size)
        if ranks.rank == ranks.size - size:
            os.kill(os.getpid(), signal.SIGKILL)
        refusal(functools.partial(check_until_failure, size))
        group = shrink()
        assert group is dist.group.WORLD
        assert (dist.get_world_size(), dist.get_rank()) == (size - 1, ranks.rank - ranks.size + size - 1)
        check_total(size - 1)
    dist.destroy_process_group()


def shrunk_by_name(ranks: Ranks) -> None:
    """PyTorch's own function, which is told who is left out. Rank 1 is, although it lives."""
    begin(ranks)
    check_total(ranks.size)
    ranks.meet("before the end")
    if ranks.is_last:
        os.kill(os.getpid(), signal.SIGKILL)
    refusal(lambda: check_until_failure(ranks.size))
    if ranks.rank != 1:
        # The error says who else must be left out.
        line = refusal(lambda: dist.shrink_group([1]))
        assert f"without ranks 1, {ranks.last}" in line, line
        dist.shrink_group([1, ranks.last])
        assert dist.get_world_size() == ranks.size - 2
        check_total(ranks.size - 2)
    ranks.meet("shrunk", range(ranks.last))
    dist.destroy_process_group()


def ending(ranks: Ranks) -> None:
    """A rank dies, and the others end because of it, one after the other. All name the one that died."""
    begin(ranks)
    check_total(ranks.size)
    ranks.meet("before the end")  # a call that is under way would fail, too
    if ranks.is_last:
        os.kill(os.getpid(), signal.SIGKILL)
    line = refusal(lambda: check_until_failure(ranks.size))
    assert f"rank {ranks.last}" in line, line
    raise SystemExit("right")


def exception(ranks: Ranks) -> None:
    """An uncaught exception, of which the other ranks learn."""
    begin(ranks)
    check_total(ranks.size)
    ranks.meet("before the end")  # a call that is under way would fail, too
    if ranks.is_last:
        raise ArithmeticError("the last rank has failed")
    line = refusal(lambda: check_until_failure(ranks.size))
    assert f"rank {ranks.last} has ended: ArithmeticError: the last rank has failed" in line, line


def aborted(ranks: Ranks) -> None:
    """A rank gives the job up."""
    begin(ranks)
    check_total(ranks.size)
    ranks.meet("before the end")  # a call that is under way would fail, too
    if ranks.is_last:
        dist.distributed_c10d._abort_process_group()
    else:
        line = refusal(lambda: check_until_failure(ranks.size))
        assert f"process group 0 was aborted by its rank {ranks.last}" in line, line
        dist.destroy_process_group()
    begin(ranks)
    check_total(ranks.size)


def monitored(ranks: Ranks) -> None:
    """A barrier that names ranks that do not arrive, and leaves the job as it was."""
    begin(ranks)
    group: Any = dist.group.WORLD
    for wait_all_ranks in (False, True):
        group.monitored_barrier(LONG, wait_all_ranks=wait_all_ranks)
    for wait_all_ranks, who in (
        (False, "Rank 1"),
        (True, "Ranks " + ", ".join(map(str, range(1, ranks.size)))),
    ):
        if ranks.rank == 0:
            line = refusal(lambda: group.monitored_barrier(SHORT, wait_all_ranks=wait_all_ranks))  # noqa: B023
            assert line == f"[Rank 0]: {who} failed to pass monitoredBarrier in 2000 ms", line
        ranks.meet(who)
    check_total(ranks.size)


def daemon(ranks: Ranks) -> None:
    """The process ends while a thread waits for a message that never comes."""
    begin(ranks)
    other = (ranks.rank + 1) % ranks.size
    threading.Thread(target=lambda: dist.recv(torch.empty(4), other), daemon=True).start()
    dist.barrier()


def visited(ranks: Ranks) -> None:
    """Somebody comes. Ranks that communicate answer at once."""
    dist.init_process_group(BACKEND)
    check_total(ranks.size)
    ranks.meet("begun")
    is_over = torch.zeros(1)
    while not is_over:
        is_over += ranks.rank == 0 and ranks.store.check(["visited"])
        dist.all_reduce(is_over)


def stores(_ranks: Ranks) -> None:
    """Processes that PyTorch starts, in a store of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        for url in (f"file://{folder}/file", "tcp://127.0.0.1:0"):
            spawn: Any = torch.multiprocessing.spawn  # type: ignore[attr-defined]
            spawn(of_store, (url, folder), nprocs=2)
    dist.init_process_group(BACKEND, store=dist.HashStore(), rank=0, world_size=1)
    check_total(1)


def of_store(rank: int, url: str, folder: str) -> None:
    """A rank of two."""
    if url.startswith("tcp"):
        # The port on which rank 0 listens.
        meeting = dist.FileStore(f"{folder}/port", 2)
        server = dist.TCPStore("127.0.0.1", 0, is_master=True) if rank == 0 else None
        if server is not None:
            meeting.set("port", str(server.port))
        port = int(meeting.get("port"))
        store = server or dist.TCPStore("127.0.0.1", port)
        dist.init_process_group(BACKEND, store=store, rank=rank, world_size=2)
    else:
        dist.init_process_group(BACKEND, init_method=url, rank=rank, world_size=2)
    check_total(2)
    dist.destroy_process_group()


def restarted(_ranks: Ranks) -> None:
    """torchrun starts all ranks again after one has failed."""
    dist.init_process_group(BACKEND)
    check_total(dist.get_world_size())
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        if dist.get_rank() == 0:
            os._exit(3)
        check_until_failure(dist.get_world_size())


CASES: dict[str, Callable[[Ranks], None]] = {
    "again": again,
    "held": held,
    "fewer": fewer,
    "first groups": first_groups,
    "left alone": left_alone,
    "recorded": recorded,
    "late": late,
    "overdue": overdue,
    "stuck": stuck,
    "killed": killed,
    "shrinking": shrinking,
    "shrunk by name": shrunk_by_name,
    "ending": ending,
    "exception": exception,
    "aborted": aborted,
    "monitored": monitored,
    "daemon": daemon,
    "visited": visited,
    "stores": stores,
    "restarted": restarted,
}


def main() -> None:
    """Run a case, and destroy the groups that it leaves, unless the case is the end of the process."""
    torch.set_num_threads(1)
    ranks = Ranks()
    # Loading PyTorch may take ranks seconds more than others, where others compute.
    ranks.meet("loaded")
    CASES[sys.argv[1]](ranks)
    if dist.is_initialized() and sys.argv[1] != "daemon":
        dist.destroy_process_group()
    print("right", flush=True)


if __name__ == "__main__":
    main()
