# SPDX-License-Identifier: Apache-2.0
"""A step of data-parallel training in JAX: mpi4jax sums gradients over the ranks, inside of jit.

The program does not know about Stretto:

    mpirun -np 2 python examples/jax_allreduce.py
    stretto run --stats calls.json -- mpirun -np 2 python examples/jax_allreduce.py
"""

from __future__ import annotations

import hashlib

import jax
import jax.numpy as jnp
import mpi4jax
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
STEPS, ROWS, COLUMNS = 10, 64, 1024


def loss(weights: jax.Array, inputs: jax.Array, targets: jax.Array) -> jax.Array:
    """Return the mean square error of a linear layer."""
    return jnp.mean((inputs @ weights - targets) ** 2)


def step(weights: jax.Array, inputs: jax.Array, targets: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Do a step by the mean of all ranks' gradients; return new weights and this rank's loss."""
    value, gradient = jax.value_and_grad(loss)(weights, inputs, targets)
    total = mpi4jax.allreduce(gradient, op=MPI.SUM, comm=comm)
    return weights - 20.0 * total / comm.size, value


def main() -> None:
    """Learn a known layer from each rank's own inputs."""
    truth = np.random.default_rng(1).normal(size=(COLUMNS, COLUMNS)).astype(np.float32)
    inputs = np.random.default_rng([2, comm.rank]).normal(size=(ROWS, COLUMNS)).astype(np.float32)
    targets = inputs @ truth
    compiled = jax.jit(step)
    weights = jnp.zeros((COLUMNS, COLUMNS))
    losses = []
    for _ in range(STEPS):
        weights, value = compiled(weights, inputs, targets)
        losses.append(comm.allreduce(float(value)) / comm.size)

    # All ranks must have the same weights, to the last bit.
    digests = comm.allgather(hashlib.sha256(np.asarray(weights).tobytes()).hexdigest())
    if len(set(digests)) != 1:
        raise SystemExit("the ranks have drifted apart: an allreduce gave them different sums")
    if not losses[-1] < losses[0]:
        raise SystemExit(f"nothing was learned: the loss went from {losses[0]} to {losses[-1]}")
    if comm.rank == 0:
        print(f"{comm.size} ranks, {STEPS} steps: loss from {losses[0]:.1f} to {losses[-1]:.1f}")


if __name__ == "__main__":
    main()
