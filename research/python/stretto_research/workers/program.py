# SPDX-License-Identifier: Apache-2.0
"""One rank of a training: builds the network, trains, and reports failures in one line."""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import replace
from typing import NoReturn

from stretto.launch.environment import find_launch
from stretto_research.networks.architectures import ARCHITECTURES
from stretto_research.workers import loop, switch
from stretto_research.workers.cores import share_of_cores
from stretto_research.workers.images import DataError, find_source
from stretto_research.workers.options import Options
from stretto_research.workers.packages import import_complaint

TRAINERS = {
    "tensorflow": "stretto_research.workers.tensorflow_trainer",
    "pytorch": "stretto_research.workers.pytorch_trainer",
}
"""The module of each framework."""


def main(text: str) -> None:
    """Train according to the options. A failure on one rank ends the job on all ranks."""
    options = Options.from_text(text)
    options = replace(options, threads=options.threads or share_of_cores())
    os.environ.setdefault("OMP_NUM_THREADS", str(options.threads))
    try:
        trainer_module = importlib.import_module(TRAINERS[options.framework])
    except ImportError as error:
        _fail(import_complaint(error, options.framework, sys.executable))
    if options.specs and not switch.is_there():
        _fail("Stretto is not under this job: its library was not preloaded into the ranks")
    try:
        architecture = ARCHITECTURES[options.model]()
        source = find_source(options.data, architecture)
        trainer = trainer_module.make_trainer(architecture, options)
        _check_ranks(trainer.ranks, options)
        loop.run(trainer, source, options)
        trainer.end()
    except DataError as error:
        _fail(str(error))
    except Exception as error:
        _fail(_in_words(error, options))


def _check_ranks(ranks: int, options: Options) -> None:
    """End the job if the framework uses another MPI library, in which each rank would be its own job."""
    launch = find_launch(os.environ)
    if launch is not None and launch.ranks != ranks:
        _fail(
            f"the launcher started {launch.ranks} ranks, but {options.framework} found {ranks}: it was "
            f"built for another MPI than the launcher's ({launch.abi}); name another interpreter "
            "by --python, or another launcher"
        )


def _in_words(error: Exception, options: Options) -> str:
    text = " ".join(str(error).split())
    short_of_memory = isinstance(error, MemoryError) or any(
        sign in f"{type(error).__name__} {text}"
        for sign in ("ResourceExhausted", "OOM", "can't allocate memory")
    )
    if short_of_memory:
        return (
            f"a batch of {options.batch} images for {options.model} does not fit into memory; "
            "take a smaller --batch"
        )
    return f"{type(error).__name__}: {text[:300]}"


def _fail(message: str) -> NoReturn:
    """Print the error and end this rank. The launcher then ends the others.

    The framework's own shutdown is skipped: Horovod and PyTorch would wait for the other ranks.
    """
    print(json.dumps({"event": "error", "message": message}), flush=True)
    sys.stderr.flush()
    os._exit(1)
