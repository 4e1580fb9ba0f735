// SPDX-License-Identifier: Apache-2.0
// The k-nomial tree, and the binomial tree (radix 2) as the fixed tree needs it.
//
// Every rank has a position. In round i, aligned runs of radix^i positions merge into runs of radix^(i+1).
// One rank of each run holds its partial result: the root if the run contains it, else the lowest rank. The
// holders of the other runs send theirs to the holder of the merged run. So the result ends on any root
// without an extra hop. Neighbouring runs of ranks merge, so rank order is kept.
//
// ⌈log_radix(p)⌉ rounds of the whole message. In a round, a holder receives radix-1 messages at once: one is
// reduced as it arrives, the others land in scratch. Reductions run from the holder's own run outwards.
//
// k-nomial: a rank's position is its number. Binomial: the fixed tree first merges neighbours among the
// lowest ranks until a power of two is left (Core). So those ranks have adjacent positions, and the ranks
// after them have every second position. With p consecutive positions, the tree would be another one unless p
// is a power of two.
//
// Source: textbook; the choice of holders is ours.
#include <algorithm>
#include <vector>

#include "algorithms/core.hpp"
#include "algorithms/reduce/reduce.hpp"

namespace stretto::reduce {
namespace {

/// The positions of the ranks: consecutive up to rank `dense`, then every second one.
struct Positions {
  int ranks;
  int dense;

  [[nodiscard]] int end() const { return of(ranks); }
  [[nodiscard]] int of(int rank) const { return rank <= dense ? rank : dense + 2 * (rank - dense); }
  [[nodiscard]] int rank_at(int position) const {
    return position <= dense ? position : dense + (position - dense) / 2;
  }
  [[nodiscard]] bool is_empty(int position) const { return position > dense && (position - dense) % 2 != 0; }
};

Schedule tree(const Task& task, int rank, int radix, const Positions& positions) {
  const int p = task.ranks();
  Schedule schedule(p, rank, 1);
  const int me = positions.of(rank);
  const int root = positions.of(task.root);
  Slice mine = input(0);
  std::vector<Slice> landing;
  std::vector<int> others;  // where the runs that merge with ours begin; the nearest first on either side
  for (int span = 1; span < positions.end(); span *= radix) {
    const int begin = me - me % (radix * span);
    const int end = std::min(begin + radix * span, positions.end());
    const int holder = root >= begin && root < end ? task.root : positions.rank_at(begin);
    if (holder != rank) return schedule.send(mine, holder).end_round();

    others.clear();
    const int own = me - me % span;
    for (int run = own - span; run >= begin; run -= span) others.push_back(run);
    for (int run = own + span; run < end; run += span) {
      if (!positions.is_empty(run)) others.push_back(run);
    }
    if (others.empty()) continue;

    // None of these runs has the root, so the lowest rank of each holds its partial result.
    const auto is_left = [&](std::size_t i) { return others[i] < own; };
    const Slice before = mine;
    if (mine == input(0)) mine = rank == task.root ? output(0) : scratch(schedule.add_scratch(0));
    schedule.recv_reduce(mine, before, positions.rank_at(others[0]), is_left(0) ? Side::left : Side::right);
    while (landing.size() + 1 < others.size()) landing.push_back(scratch(schedule.add_scratch(0)));
    for (std::size_t i = 1; i < others.size(); ++i) {
      schedule.recv(landing[i - 1], positions.rank_at(others[i]));
    }
    schedule.end_round();
    for (std::size_t i = 1; i < others.size(); ++i) {
      const Slice& theirs = landing[i - 1];
      schedule.reduce(mine, is_left(i) ? theirs : mine, is_left(i) ? mine : theirs).end_round();
    }
  }
  return schedule;
}

}  // namespace

Schedule binomial(const Task& task, int rank) {
  const Core core(task.ranks());
  return tree(task, rank, 2, {.ranks = task.ranks(), .dense = 2 * (task.ranks() - core.size())});
}

Schedule knomial(const Task& task, int rank) {
  return tree(task, rank, task.radix, {.ranks = task.ranks(), .dense = task.ranks()});
}

}  // namespace stretto::reduce
