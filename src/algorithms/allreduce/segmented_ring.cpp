// SPDX-License-Identifier: Apache-2.0
// Segmented ring (SRG in Table 1 of the CNN-training paper): s segments travel around the ring one after the
// other, then the finished message goes around in p equal parts.
//
// The paper has no listing; this algorithm has the costs of its formula: p+s-2 steps of n/s, the time in
// which s segments pass a pipeline of p ranks, and p-1 steps of n/p, an allgather. So a segment starts in
// every step, and is passed on p-1 times, reduced with each rank's contribution. For the allgather to have
// equal parts, segments start at different places: segment j at place 2j + floor(j/p). Then a rank never
// sends more than one segment in a step, nor receives more than one: at any time, p-1 consecutive segments
// are under way, in different places. And equally many segments end at every place: after p segments if p is
// odd, after 2p if it is even (p of them end at every other place; the term floor(j/p) gives the next p the
// places between).
//
// s is fixed, since schedules know no sizes: 64, rounded up to fill all places equally. p+s-2 + p-1 rounds.
// A rank sends 2(p-1)/p of the message as in a ring, but its reduce-scatter takes longer by a factor of
// (p+s-2)p/s(p-1): in a ring, all ranks send from the first step on. It is here for comparison.
//
// As in ring.cpp, there is no copy at the beginning, and the ring goes from node to node. A segment that
// arrives after o steps holds the contributions of the o places before this one.
#include <algorithm>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"

namespace stretto::allreduce {
namespace {

constexpr int least_segments = 64;
constexpr int none = -1;

/// Blocks are numbered so that the segments that end at one place are neighbours.
class Segments {
 public:
  explicit Segments(int p) : p_(p), each_(p % 2 == 0 ? 2 : 1) {
    each_ *= (least_segments + each_ * p - 1) / (each_ * p);
  }

  [[nodiscard]] int count() const { return each_ * p_; }
  /// The number of segments that end at each place.
  [[nodiscard]] int each() const { return each_; }
  [[nodiscard]] int start(int segment) const { return (2 * (segment % p_) + segment / p_) % p_; }
  [[nodiscard]] int block(int segment) const {
    const int end = (start(segment) + p_ - 1) % p_;
    const int lap = segment / p_;
    const bool second = segment % p_ >= p_ / 2;
    return end * each_ + (p_ % 2 != 0 ? lap : lap / 2 * 2 + (second ? 1 : 0));
  }

 private:
  int p_;
  int each_;
};

}  // namespace

Schedule segmented_ring(const Task& task, int rank) {
  const int p = task.ranks();
  const Segments segments(p);
  const int each = segments.each();
  Schedule schedule(p, rank, segments.count());
  const std::vector<int>& order = task.topology.by_node;
  const int place = static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin());
  const auto back = [&](int steps) { return (place + 2 * p - steps) % p; };
  const auto rank_back = [&](int steps) { return order[static_cast<std::size_t>(back(steps))]; };
  const int next = rank_back(-1);
  const int previous = rank_back(1);

  std::vector<int> lowest_of_last{p};  // [steps] the lowest rank of that many places before this one
  for (int steps = 1; steps < p; ++steps) {
    lowest_of_last.push_back(std::min(lowest_of_last.back(), rank_back(steps)));
  }
  const auto steps_to_here = [&](int segment) { return (place + p - segments.start(segment)) % p; };
  std::vector<int> leaving(static_cast<std::size_t>(p + segments.count() - 2), none);  // [step]
  std::vector<int> arriving = leaving;
  for (int segment = 0; segment < segments.count(); ++segment) {
    const int steps = steps_to_here(segment);
    if (steps < p - 1) leaving[static_cast<std::size_t>(segment + steps)] = segment;
    if (steps > 0) arriving[static_cast<std::size_t>(segment + steps - 1)] = segment;
  }

  for (std::size_t step = 0; step < leaving.size(); ++step) {
    if (leaving[step] != none) {
      const int block = segments.block(leaving[step]);
      schedule.send(steps_to_here(leaving[step]) == 0 ? input(block) : output(block), next);
    }
    if (arriving[step] != none) {
      const int block = segments.block(arriving[step]);
      const int lowest = lowest_of_last[static_cast<std::size_t>(steps_to_here(arriving[step]))];
      schedule.recv_reduce(output(block), input(block), previous, lowest < rank ? Side::left : Side::right);
    }
    schedule.end_round();
  }
  for (int step = 0; step < p - 1; ++step) {
    schedule.send(output(back(step) * each, each), next);
    schedule.recv(output(back(step + 1) * each, each), previous);
    schedule.end_round();
  }
  return schedule;
}

}  // namespace stretto::allreduce
