# SPDX-License-Identifier: Apache-2.0
"""Replicas of torchft that train a network, until one that was killed has come back.

    torch_ft.py lighthouse
    torch_ft.py replica NAME [DIES_AT]

A replica is one process. In the given step it kills itself. All go on for some steps after three have been
there again, and print what they have: the number of replicas in each phase, and a sum over the parameters.
"""

from __future__ import annotations

import importlib
import itertools
import os
import signal
import sys
import time
from datetime import timedelta
from typing import Any

import torch

TIMEOUT = timedelta(seconds=20)
MORE_STEPS = 10


beside: Any = importlib.import_module("torch_libraries")  # beside this file
imported = beside.imported
dist = imported("torch.distributed")


def keep_lighthouse() -> None:
    server = imported("torchft.coordination").LighthouseServer(
        bind="127.0.0.1:0", min_replicas=2, join_timeout_ms=1000, heartbeat_timeout_ms=1000
    )
    print(server.address(), flush=True)
    time.sleep(1000)


class Replica:
    def __init__(self, name: str) -> None:
        self.model = beside.network()
        self.present: dict[int, int] = {}
        """The number of replicas by step."""
        os.environ["MASTER_ADDR"], os.environ["RANK"], os.environ["WORLD_SIZE"] = "127.0.0.1", "0", "1"
        store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        os.environ["MASTER_PORT"] = str(store.port)
        self.group = imported("stretto.torch.torchft").ProcessGroupStretto(timeout=TIMEOUT)
        torchft = imported("torchft")
        self.manager = torchft.Manager(
            pg=self.group,
            min_replica_size=1,
            load_state_dict=self.load,
            state_dict=self.save,
            replica_id=name,
            store_addr="127.0.0.1",
            store_port=store.port,
            rank=0,
            world_size=1,
            timeout=TIMEOUT,
        )
        self.store = store
        self.together = torchft.DistributedDataParallel(self.manager, self.model)
        self.descent = torchft.Optimizer(self.manager, beside.descent(self.model))

    def load(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.descent.load_state_dict(state["descent"])
        self.present = dict(state["present"])

    def save(self) -> dict[str, Any]:
        descent = self.descent.state_dict()
        return {"model": self.model.state_dict(), "descent": descent, "present": self.present}

    def take_step(self) -> None:
        step = self.manager.current_step()
        self.descent.zero_grad()
        beside.loss(self.together, *beside.batch(0, step)).backward()
        self.descent.step()
        if self.manager.current_step() > step:
            self.present[self.manager.current_step()] = self.manager.num_participants()

    def phases(self) -> list[int]:
        steps = (self.present[step] for step in sorted(self.present))
        return [number for number, _ in itertools.groupby(steps)]

    def is_done(self) -> bool:
        last = [self.present[step] for step in sorted(self.present)][-MORE_STEPS:]
        return 2 in self.phases() and last == [3] * MORE_STEPS


def train(name: str, dies_at: int) -> None:
    torch.set_num_threads(1)
    replica = Replica(name)
    while not replica.is_done():
        replica.take_step()
        if replica.manager.current_step() == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
    backend = replica.group._pg._get_backend(torch.device("cpu")).name()
    weights = sum(float(one.double().sum()) for one in replica.model.parameters())
    print("done", backend, replica.phases(), weights, flush=True)
    replica.manager.shutdown(wait=False)
    os._exit(0)


def main() -> None:
    if sys.argv[1] == "lighthouse":
        keep_lighthouse()
    else:
        train(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else -1)


if __name__ == "__main__":
    main()
