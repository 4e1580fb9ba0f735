// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's reduce: a reduce-scatter by recursive halving, then a binomial gather of the blocks to the
// root. 2 log2(p) rounds, in which a rank sends at most 1½ times the message. It suits large messages on
// many ranks. If p is no power of two, one rank of each extra pair first sends its whole message to the
// other, but never the root.
//
// The halving is that of allreduce's rabenseifner: it keeps rank order and gives the fixed tree
// (halvings.hpp). The gather undoes its steps in reverse order: of two partners, the one on the root's side
// of the step receives what the other one has.
//
// Source: Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005.
#include <vector>

#include "algorithms/core.hpp"
#include "algorithms/halvings.hpp"
#include "algorithms/reduce/reduce.hpp"

namespace stretto::reduce {

Schedule rabenseifner(const Task& task, int rank) {
  const int p = task.ranks();
  const Core core(p);
  const int blocks = core.size();
  Schedule schedule(p, rank, blocks);
  // Both ranks of a pair have its number. In the root's pair the root takes part, in any other pair the odd
  // rank, as Core says.
  const int me = core.core_of(rank);
  const int root = core.core_of(task.root);
  const auto rank_of = [&](int number) { return number == root ? task.root : core.rank_of(number); };
  if (rank != rank_of(me)) return schedule.send(input(0, blocks), rank_of(me)).end_round();

  const std::vector<Halving> steps = halvings(blocks, me);
  const int first_partial = core.is_paired(rank) ? 0 : steps[0].kept;
  if (me != root) schedule.add_scratch(first_partial, core.is_paired(rank) ? blocks : steps[0].count);
  const auto partial = [&](int first, int count) {
    return me == root ? output(first, count) : scratch(first - first_partial, count);
  };
  bool has_partial = false;
  if (core.is_paired(rank)) {
    const int neighbour = rank ^ 1;
    schedule.recv_reduce(partial(0, blocks), input(0, blocks), neighbour,
                         neighbour < rank ? Side::left : Side::right);
    schedule.end_round();
    has_partial = true;
  }

  for (const Halving& step : steps) {
    const auto mine = [&](int first) {
      return has_partial ? partial(first, step.count) : input(first, step.count);
    };
    const int partner = rank_of(me ^ step.distance);
    schedule.send(mine(step.given), partner);
    schedule.recv_reduce(partial(step.kept, step.count), mine(step.kept), partner,
                         partner < rank ? Side::left : Side::right);
    schedule.end_round();
    has_partial = true;
  }
  for (std::size_t left = steps.size(); left > 0; --left) {
    const Halving& step = steps[left - 1];
    const int partner = rank_of(me ^ step.distance);
    const bool on_roots_side = ((me ^ root) & step.distance) == 0;
    if (!on_roots_side) return schedule.send(partial(step.kept, step.count), partner).end_round();
    schedule.recv(partial(step.given, step.count), partner).end_round();
  }
  return schedule;
}

}  // namespace stretto::reduce
