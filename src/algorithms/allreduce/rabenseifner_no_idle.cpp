// SPDX-License-Identifier: Apache-2.0
// Rabenseifner's algorithm for any p in which no rank idles: a reduce-scatter that merges neighbouring
// groups of ranks, then an allgather that undoes the same merges.
//
// A group of m ranks holds the sum of its contributions; the rank at position i holds the part from i/m to
// (i+1)/m of the message. p is halved (rounded up and down) until groups have one rank, so two groups that
// merge have m and m ranks, or m+1 and m. The merged group takes its ranks from both in turn: position i of
// the lower group becomes 2i, that of the upper one 2i+1. Then a rank's new part always lies inside its old
// one: 2i/(2m+1) >= i/(m+1), and so on for the other ends. The rank sends the rest of its part to the ranks
// that continue with it (one partner in an even merge, at most two in an uneven one), and receives their
// share of its own part. In an even merge, this is the exchange of halves of recursive halving.
//
// 2 ceil(log2 p) rounds; if p is a power of two, the messages of rabenseifner. In the reduce-scatter every
// rank sends exactly (p-1)/p of the message: the difference between its old part and the new one, summed up.
// In the allgather every rank receives as much, but sends the sum of 1/size over the sizes of the groups
// that it was merged into: (p-1)/p for p = 2^k, most for p = 2^k+1 (1/2 + 1/3 + 1/5 + 1/9 + …, below 1.27).
// So the busiest rank sends at most 2.27 messages, where rabenseifner's sends 3. An uneven merge lasts as
// long as the smaller group takes to send, (m+1)/m(2m+1) of the message. Along the slowest chain of merges,
// again that of p = 2^k+1, a phase lasts 1.74 messages' time, where rabenseifner's lasts 2. Borders are
// rounded down to blocks; there are so many blocks that this does not matter.
//
// Groups are runs of consecutive ranks, so rank order is kept.
//
// Source: the problem is that of Rabenseifner, Traeff 2004, "More Efficient Reduction Algorithms for
// Non-Power-of-Two Number of Processors in Message-Passing Parallel Systems". In place of their 3-to-2
// elimination steps, both groups of an uneven merge are cut differently.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"

namespace stretto::allreduce {
namespace {

constexpr int least_blocks = 256;

struct Run {
  int first;
  int end;

  [[nodiscard]] int count() const { return end - first; }
};

Run overlap(const Run& a, const Run& b) {
  const int first = std::max(a.first, b.first);
  return {first, std::max(first, std::min(a.end, b.end))};
}

/// The blocks of the rank at `position` in a group of `size`. Rounding down is monotonic: if a part lies
/// inside another one as a fraction, it also does as blocks.
Run part(int blocks, int position, int size) {
  const auto border = [&](std::int64_t i) { return static_cast<int>(i * blocks / size); };
  return {border(position), border(position + 1)};
}

/// The rank at `position` in the group of `size` ranks from `first` on.
int rank_at(int first, int size, int position) {
  for (; size > 1; position /= 2) {
    const int lower = (size + 1) / 2;
    first += position % 2 == 0 ? 0 : lower;
    size = position % 2 == 0 ? lower : size - lower;
  }
  return first;
}

struct Exchange {
  int partner;
  Run given;  // blocks of this rank that the partner continues with
  Run taken;  // blocks of the partner that this rank continues with
};

using Merge = std::vector<Exchange>;

std::vector<Merge> merges(int p, int rank, int blocks) {
  struct Halves {
    int first;
    int size;
    int lower;
    bool is_upper;
  };
  std::vector<Halves> path;
  for (int first = 0, size = p; size > 1;) {
    const int lower = (size + 1) / 2;
    path.push_back({first, size, lower, rank >= first + lower});
    first += path.back().is_upper ? lower : 0;
    size = path.back().is_upper ? size - lower : lower;
  }

  std::vector<Merge> result;
  int position = 0;
  for (; !path.empty(); path.pop_back()) {
    const auto [first, size, lower, is_upper] = path.back();
    const int own_size = is_upper ? size - lower : lower;
    const int other_size = size - own_size;
    const int side = is_upper ? 1 : 0;
    const Run before = part(blocks, position, own_size);
    const Run after = part(blocks, 2 * position + side, size);
    Merge merge;
    for (int other = std::max(0, position - 1); other <= std::min(other_size - 1, position + 1); ++other) {
      merge.push_back({.partner = rank_at(is_upper ? first : first + lower, other_size, other),
                       .given = overlap(before, part(blocks, 2 * other + 1 - side, size)),
                       .taken = overlap(after, part(blocks, other, other_size))});
    }
    result.push_back(merge);
    position = 2 * position + side;
  }
  return result;
}

}  // namespace

Schedule rabenseifner_no_idle(const Task& task, int rank) {
  const int p = task.ranks();
  const int blocks = (least_blocks + p - 1) / p * p;
  Schedule schedule(p, rank, blocks);
  const std::vector<Merge> steps = merges(p, rank, blocks);
  Buffer mine = Buffer::input;
  for (const Merge& merge : steps) {
    for (const auto& [partner, given, taken] : merge) {
      if (given.count() > 0) schedule.send({mine, given.first, given.count()}, partner);
      if (taken.count() == 0) continue;
      schedule.recv_reduce(output(taken.first, taken.count()), {mine, taken.first, taken.count()}, partner,
                           partner < rank ? Side::left : Side::right);
    }
    schedule.end_round();
    mine = Buffer::output;
  }
  for (std::size_t left = steps.size(); left > 0; --left) {
    for (const auto& [partner, given, taken] : steps[left - 1]) {
      if (taken.count() > 0) schedule.send(output(taken.first, taken.count()), partner);
      if (given.count() > 0) schedule.recv(output(given.first, given.count()), partner);
    }
    schedule.end_round();
  }
  return schedule;
}

/// Halving gives the fixed tree only for these p.
bool rabenseifner_no_idle_has_fixed_tree(const Task& task) {
  const auto p = static_cast<unsigned>(task.ranks());
  return std::has_single_bit(p) || std::has_single_bit(p - 1) || std::has_single_bit(p + 1);
}

}  // namespace stretto::allreduce
