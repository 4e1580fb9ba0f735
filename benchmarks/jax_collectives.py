# SPDX-License-Identifier: Apache-2.0
"""JAX's collectives between processes, by "gloo" or by "mpi", against what NumPy computes.

A rank's program, of an MPI launcher or by hand with --rank and --ranks. With --time it measures them instead.
"""

from __future__ import annotations

import argparse
import atexit
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

AXIS = "ranks"
ROWS, COLUMNS = "rows", "columns"
TYPES = ("float32", "float64", "int32", "bfloat16")
LENGTHS = (1, 1000, 70_001)
TIMED = ("psum", "all_gather", "psum_scatter")
# What a launcher tells its ranks: Open MPI, MPICH, Slurm.
RANK_NAMES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
RANKS_NAMES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
# JAX's MPI backend knows no MPI type of 16-bit floats. Where XLA widens none, it refuses them.
REFUSED = "Unsupported primitive type"


def told(names: tuple[str, ...], default: int) -> int:
    """What a launcher says of this process in its environment."""
    return next((int(os.environ[name]) for name in names if name in os.environ), default)


@dataclass
class Job:
    """The processes, each with one device."""

    rank: int
    ranks: int
    mesh: Mesh

    def spread(self, local: np.ndarray[Any, Any], spec: P | None = None) -> jax.Array:
        """Every rank's own part, as one array."""
        sharding = NamedSharding(self.mesh, P(AXIS) if spec is None else spec)
        return jax.make_array_from_process_local_data(sharding, local)

    def on_each(
        self, function: Callable[..., Any], mesh: Mesh | None = None
    ) -> Callable[[jax.Array], jax.Array]:
        """The function on every rank's own part."""
        mesh = mesh or self.mesh
        parts = P(mesh.axis_names)
        mapped = jax.shard_map(function, mesh=mesh, in_specs=parts, out_specs=parts, check_vma=False)
        compiled: Callable[[jax.Array], jax.Array] = jax.jit(mapped)
        return compiled


def own(array: jax.Array) -> np.ndarray[Any, Any]:
    """This rank's part of an array."""
    return np.asarray(array.addressable_data(0))


def values(rank: int, length: int, kind: str) -> np.ndarray[Any, Any]:
    """Small whole numbers, whose sums are exact in every type."""
    return np.random.default_rng(rank).integers(0, 4, length).astype(jnp.dtype(kind))


def check(job: Job, name: str, kind: str, length: int) -> bool:
    """Whether the collective takes this type. What it gives must be right."""
    rank, ranks = job.rank, job.ranks
    divided = name in ("psum_scatter", "all_to_all")
    whole = length * ranks if divided else length
    every = np.stack([values(other, whole, kind) for other in range(ranks)])
    ring = [(source, (source + 1) % ranks) for source in range(ranks)]
    part = slice(rank * length, (rank + 1) * length)
    calls: dict[str, tuple[Callable[[jax.Array], Any], Callable[[], np.ndarray[Any, Any]]]] = {
        "psum": (partial(lax.psum, axis_name=AXIS), lambda: every.sum(0, every.dtype)),
        "pmax": (partial(lax.pmax, axis_name=AXIS), lambda: every.max(0)),
        "all_gather": (partial(lax.all_gather, axis_name=AXIS, tiled=True), lambda: every.reshape(-1)),
        "psum_scatter": (
            partial(lax.psum_scatter, axis_name=AXIS, tiled=True),
            lambda: every[:, part].sum(0, every.dtype),
        ),
        "all_to_all": (
            partial(lax.all_to_all, axis_name=AXIS, split_axis=0, concat_axis=0, tiled=True),
            lambda: every[:, part].reshape(-1),
        ),
        "ppermute": (partial(lax.ppermute, axis_name=AXIS, perm=ring), lambda: every[(rank - 1) % ranks]),
    }
    function, wanted = calls[name]
    try:
        found = own(job.on_each(function)(job.spread(every[rank])))
    except jax.errors.JaxRuntimeError as error:
        if REFUSED not in str(error) or kind != "bfloat16":
            raise
        return False
    same(found, wanted(), name, kind, length)
    return True


def same(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], *what: object) -> None:
    """Raise SystemExit unless both arrays are equal."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape or not np.array_equal(found, wanted):
        raise SystemExit(f"{what}: {found} instead of {wanted}")


def check_groups(job: Job) -> None:
    """Sums within the rows and the columns of a grid of ranks."""
    grid = Mesh(np.array(jax.devices()).reshape(2, -1), (ROWS, COLUMNS))
    places = np.arange(job.ranks).reshape(2, -1)
    row, column = divmod(job.rank, places.shape[1])
    for axis, group in ((ROWS, places[:, column]), (COLUMNS, places[row])):
        array = job.spread(values(job.rank, 100, "float32"))
        array = jax.device_put(array, NamedSharding(grid, P((ROWS, COLUMNS))))
        found = own(job.on_each(partial(lax.psum, axis_name=axis), grid)(array))
        wanted = np.sum([values(int(rank), 100, "float32") for rank in group], axis=0)
        same(found, wanted, "groups", axis)


def check_all(job: Job) -> str:
    """Check every collective; return a line that says which types JAX refused."""
    names = ("psum", "pmax", "all_gather", "psum_scatter", "all_to_all", "ppermute")
    refused = []
    for name in names:
        for kind in TYPES:
            taken = [check(job, name, kind, length) for length in LENGTHS]
            if not all(taken):
                refused.append(f"{name} of {kind}")
    if job.ranks >= 4 and job.ranks % 2 == 0:
        check_groups(job)
    text = f"{', '.join(names)} are right"
    return f"{text}; refused: {', '.join(refused)}" if refused else text


Parameters = list[tuple[jax.Array, jax.Array]]


def first_parameters() -> Parameters:
    """The same on all ranks."""
    sizes = (16, 64, 64, 1)
    random = np.random.default_rng(7)
    parameters = []
    for before, after in itertools.pairwise(sizes):
        weights = random.normal(0, before**-0.5, (before, after)).astype(np.float32)
        parameters.append((jnp.asarray(weights), jnp.zeros(after, jnp.float32)))
    return parameters


def loss_of(parameters: Parameters, inputs: jax.Array, targets: jax.Array) -> jax.Array:
    """The mean square error of a small network."""
    for weights, biases in parameters[:-1]:
        inputs = jnp.tanh(inputs @ weights + biases)
    weights, biases = parameters[-1]
    return jnp.mean((inputs @ weights + biases - targets) ** 2)


def stepped(parameters: Parameters, gradients: Parameters) -> Parameters:
    """The parameters after a step."""
    stepped_on: Parameters = jax.tree.map(
        lambda value, gradient: value - 0.1 * gradient, parameters, gradients
    )
    return stepped_on


def train(job: Job, steps: int = 21) -> str:
    """Train by shared batches in two ways, and as one process does it alone. Returns the losses."""
    random = np.random.default_rng(3)
    inputs = random.normal(size=(job.ranks * 32, 16)).astype(np.float32)
    targets = np.sin(inputs.sum(1, keepdims=True)).astype(np.float32)
    part = slice(job.rank * 32, (job.rank + 1) * 32)
    batch = [job.spread(array[part], P(AXIS, None)) for array in (inputs, targets)]

    def alone(parameters: Parameters, *data: jax.Array) -> tuple[jax.Array, Parameters]:
        loss, gradients = jax.value_and_grad(loss_of)(parameters, *data)
        return loss, stepped(parameters, gradients)

    def shared(parameters: Parameters, *data: jax.Array) -> tuple[jax.Array, Parameters]:
        loss, gradients = jax.value_and_grad(loss_of)(parameters, *data)
        loss, gradients = lax.pmean((loss, gradients), AXIS)
        return loss, stepped(parameters, gradients)

    parts = (P(), P(AXIS, None), P(AXIS, None))
    by_hand = jax.shard_map(shared, mesh=job.mesh, in_specs=parts, out_specs=P(), check_vma=False)
    # The same by the compiler, which finds out for itself what is to be added up.
    everywhere = NamedSharding(job.mesh, P())
    ways: dict[str, tuple[Callable[..., Any], list[Any]]] = {
        "one process": (jax.jit(alone), [jnp.asarray(inputs), jnp.asarray(targets)]),
        "shard_map": (jax.jit(by_hand), batch),
        "jit": (jax.jit(alone, out_shardings=everywhere), batch),
    }
    losses: dict[str, list[float]] = {}
    for name, (step, data) in ways.items():
        parameters = first_parameters()
        if name != "one process":
            parameters = jax.tree.map(lambda value: job.spread(np.asarray(value), P()), parameters)
        losses[name] = []
        for _ in range(steps):
            loss, parameters = step(parameters, *data)
            losses[name].append(float(own(loss)))
        if not np.allclose(losses[name], losses["one process"], rtol=1e-4):
            raise SystemExit(f"losses of {name}: {losses[name]} instead of {losses['one process']}")
    return " ".join(f"{loss:.6f}" for loss in losses["shard_map"][:: steps // 4])


def repeated(name: str, ranks: int, times: int) -> Callable[[jax.Array], jax.Array]:
    """One collective after the other in one compiled function, each on what the one before has given."""

    def once(_: Any, vector: jax.Array) -> jax.Array:
        if name == "psum":
            return lax.psum(vector, AXIS) * np.float32(1 / ranks)
        if name == "all_gather":
            return lax.all_gather(vector, AXIS, tiled=True)[: vector.size]
        part = lax.psum_scatter(vector, AXIS, tiled=True) * np.float32(1 / ranks)
        return lax.dynamic_update_slice(vector, part, (0,))

    return lambda vector: lax.fori_loop(0, times, once, vector)


def measure(job: Job, name: str, size: int, budget: float) -> dict[str, Any]:
    """Median time of a collective on so many bytes: of a vector added up, or of one gathered."""
    count = max(size // 4, 1) if name == "psum" else max(size // 4 // job.ranks, 1) * job.ranks
    length = count // job.ranks if name == "all_gather" else count
    vector = job.spread(np.ones(length, np.float32))

    def timed(function: Callable[[jax.Array], jax.Array]) -> float:
        begin = time.perf_counter()
        function(vector).block_until_ready()
        return time.perf_counter() - begin

    def for_all(seconds: float) -> float:
        return float(np.max(multihost_utils.process_allgather(np.float32(seconds))))

    function = job.on_each(repeated(name, job.ranks, 1))
    timed(function)
    # One guess for all ranks, of how many fit into the time.
    guess = for_all(min(timed(function) for _ in range(3)))
    times = int(np.clip(0.02 / guess, 1, 20))
    if times > 1:
        function = job.on_each(repeated(name, job.ranks, times))
        timed(function)
    rounds = int(np.clip(budget / (guess * times), 5, 101))
    seconds = np.array([timed(function) for _ in range(rounds)], np.float32) / times
    slowest = np.max(multihost_utils.process_allgather(seconds), axis=0)
    return {
        "collective": name,
        "bytes": count * 4,
        "microseconds": round(float(statistics.median(slowest)) * 1e6, 2),
        "least_microseconds": round(float(np.min(slowest)) * 1e6, 2),
        "rounds": rounds,
        "calls_a_round": times,
    }


def arguments() -> argparse.Namespace:
    """The words of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("implementation", choices=("gloo", "mpi"))
    parser.add_argument("--coordinator", default="127.0.0.1:12321", help="where rank 0 listens: HOST:PORT")
    parser.add_argument("--rank", type=int, default=told(RANK_NAMES, 0))
    parser.add_argument("--ranks", type=int, default=told(RANKS_NAMES, 1))
    parser.add_argument("--time", action="store_true", help="measure, and print a line of JSON")
    parser.add_argument("--collectives", default=",".join(TIMED), help="of those measured")
    parser.add_argument("--sizes", default="4,1024,16384,65536,1048576", help="bytes of whole vectors")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds for each collective and size")
    parser.add_argument("--plain-exit", action="store_true", help="end as Python does (see leave)")
    return parser.parse_args()


def leave() -> None:
    """End MPI as JAX does at exit, and then the process at once.

    JAX frees its communicators later still, when its library ends. MPI libraries take that for an error.
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(0)


def main() -> None:
    """Check or measure, and print a line on rank 0."""
    chosen = arguments()
    jax.config.update("jax_cpu_collectives_implementation", chosen.implementation)
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    jax.distributed.initialize(chosen.coordinator, num_processes=chosen.ranks, process_id=chosen.rank)
    job = Job(chosen.rank, chosen.ranks, Mesh(np.array(jax.devices()), (AXIS,)))
    # The first call makes the communicator, which JAX allows to the main thread alone. So it is a small one.
    own(job.on_each(partial(lax.psum, axis_name=AXIS))(job.spread(np.ones(1, np.float32))))
    found: dict[str, Any] = {"jax": jax.__version__, "by": chosen.implementation, "ranks": chosen.ranks}
    if chosen.time:
        sizes = [int(size) for size in chosen.sizes.split(",")]
        found["times"] = [
            measure(job, name, size, chosen.budget)
            for name in chosen.collectives.split(",")
            for size in sizes
        ]
    else:
        line = f"JAX {jax.__version__} by {chosen.implementation}, {chosen.ranks} ranks: {check_all(job)}"
        line += f"; losses {train(job)}"
    if chosen.rank == 0:
        print(json.dumps(found) if chosen.time else line, flush=True)
    if not chosen.plain_exit:
        leave()


if __name__ == "__main__":
    main()
