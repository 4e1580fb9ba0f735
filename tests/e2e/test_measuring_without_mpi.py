# SPDX-License-Identifier: Apache-2.0
"""`stretto bench --mpi sockets` under torchrun: the ranks meet by its store."""

from __future__ import annotations

import json
import subprocess

from tests.e2e.torch_starting import PYTHON

from stretto.support.paths import find_command

SECONDS = 200


def test_torchrun_starts_the_measuring_program() -> None:
    launcher = [*PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "3"]
    options = ["--sizes", "1KiB", "--specs", "auto,ring", "--repetitions", "2", "--json"]
    line = [str(find_command()), "bench", "allreduce", "--mpi", "sockets", *options, "--", *launcher]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS)
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert document["mpi"].startswith("Stretto sockets ")
    assert document["ppn"] == [3]
