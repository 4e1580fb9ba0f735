// SPDX-License-Identifier: Apache-2.0
// Ring (RNG in Table 1 of the pipelined paper): p blocks travel around a ring of p ranks, twice.
//
// Reduce-scatter: block b sets out at rank b and moves on by one rank a round; each rank that it reaches adds
// its own contribution. After p-1 rounds it is complete at rank b-1. Allgather: the complete blocks go around
// once more. 2(p-1) rounds; a rank sends 2(p-1)/p of the message, which is the least that an allreduce can
// do, for any p.
//
// No copy comes first: the first use of a block reads the input. The partial result that arrives holds ranks
// b … r-1 (around the ring), so the lower of the two operands is ours only at rank 0.
#include "algorithms/allreduce/allreduce.hpp"

namespace stretto::allreduce {

Schedule ring(const Topology& topology, int rank) {
  const int p = topology.ranks();
  Schedule schedule(p, rank, p);
  if (p == 1) return schedule.copy(output(0), input(0)).end_round();

  const int next = (rank + 1) % p;
  const int previous = (rank + p - 1) % p;
  const auto block = [&](int steps_back) { return (rank + 2 * p - steps_back) % p; };
  const Side arriving = rank == 0 ? Side::right : Side::left;

  for (int step = 0; step < p - 1; ++step) {
    schedule.send(step == 0 ? input(block(0)) : output(block(step)), next);
    schedule.recv_reduce(output(block(step + 1)), input(block(step + 1)), previous, arriving);
    schedule.end_round();
  }
  for (int step = 0; step < p - 1; ++step) {
    schedule.send(output(block(step - 1)), next);
    schedule.recv(output(block(step)), previous);
    schedule.end_round();
  }
  return schedule;
}

}  // namespace stretto::allreduce
