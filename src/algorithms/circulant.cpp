// SPDX-License-Identifier: Apache-2.0
#include "algorithms/circulant.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace stretto {
namespace {

/// Sums at consecutive distances that hold contributions of the same ranks: those so many places back. The
/// same for all ranks.
struct Alike {
  int first = 0;
  std::vector<int> places_back;
};
using Sums = std::vector<Alike>;  // by distance

const std::vector<int>& at(const Sums& sums, int distance) {
  const auto next = std::ranges::upper_bound(sums, distance, {}, &Alike::first);
  return (next - 1)->places_back;
}

/// The lowest rank of those so many places back.
int lowest(const std::vector<int>& places_back, int rank, int ranks) {
  int farthest = -1;  // of those that are not past rank 0
  int past_0 = 0;
  for (const int back : places_back)
    (back <= rank ? farthest : past_0) = std::max(back <= rank ? farthest : past_0, back);
  return farthest >= 0 ? rank - farthest : rank + ranks - past_0;
}

/// A round: of the sums at distances 0 … held-1, those from half on go to the rank `half` places ahead.
struct Halving {
  int held;
  int half;

  [[nodiscard]] int sent() const { return held - half; }
};

/// The distances at which sums begin that are unlike those before, after a round; and its end.
std::vector<int> borders_of(const Sums& sums, const Halving& round) {
  std::vector<int> borders{0, round.sent(), round.half};
  for (const Alike& one : sums)
    borders.push_back(one.first < round.half ? one.first : one.first - round.half);
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  return borders;
}

/// Where the contributions come from that a sum gets in a round.
std::vector<int> added_to(const Sums& sums, const Halving& round, int distance) {
  std::vector<int> added = at(sums, round.half + distance);
  for (int& back : added) back += round.half;
  return added;
}

Sums add(const Sums& sums, const Halving& round) {
  Sums result;
  for (const int border : borders_of(sums, round)) {
    if (border == round.half) break;
    Alike one{.first = border, .places_back = at(sums, border)};
    if (border < round.sent()) {
      const std::vector<int> added = added_to(sums, round, border);
      one.places_back.insert(one.places_back.end(), added.begin(), added.end());
    }
    result.push_back(std::move(one));
  }
  return result;
}

/// A run of the sums that a rank receives, for which it has one order: the lowest rank's operand stands on
/// the left.
struct Run {
  int first;
  int count;
  Side arriving;
};

std::vector<Run> received(const Sums& sums, const Halving& round, int rank, int ranks) {
  std::vector<Run> runs;
  const std::vector<int> borders = borders_of(sums, round);
  for (std::size_t i = 0; borders[i] < round.sent(); ++i) {
    const int first = borders[i];
    const bool is_left =
        lowest(added_to(sums, round, first), rank, ranks) < lowest(at(sums, first), rank, ranks);
    const Side arriving = is_left ? Side::left : Side::right;
    if (runs.empty() || runs.back().arriving != arriving) runs.push_back({first, 0, arriving});
    runs.back().count += borders[i + 1] - first;
  }
  return runs;
}

}  // namespace

void append_circulant_reduce_scatter(Schedule& schedule, Slice all) {
  const int p = schedule.ranks();
  const int rank = schedule.rank();
  const auto sum = [&](int first, int count) { return Slice{all.buffer, all.first + first, count}; };
  // A run that goes past the last block is two slices, and so two messages, for both of its ends.
  const auto for_each_slice = [&](int distance, int count, auto visit) {
    const int first = (rank + distance) % p;
    const int before_the_end = std::min(count, p - first);
    visit(first, before_the_end);
    if (count > before_the_end) visit(0, count - before_the_end);
  };
  Sums sums{{.first = 0, .places_back = {0}}};
  for (Halving round{.held = p, .half = (p + 1) / 2}; round.held > 1;) {
    const bool is_first = round.held == p;
    const int to = (rank + round.half) % p;
    const int from = (rank + p - round.half) % p;
    for (const Run& run : received(sums, round, to, p)) {
      for_each_slice(round.half + run.first, run.count, [&](int first, int count) {
        schedule.send(is_first ? input(first, count) : sum(first, count), to);
      });
    }
    for (const Run& run : received(sums, round, rank, p)) {
      for_each_slice(run.first, run.count, [&](int first, int count) {
        const Slice with = is_first ? input(first, count) : sum(first, count);
        schedule.recv_reduce(sum(first, count), with, from, run.arriving);
      });
    }
    // Of an odd number, the last one stays as it is. Later rounds read all where the sums are.
    if (is_first && round.sent() < round.half) {
      const int alone = (rank + round.half - 1) % p;
      schedule.copy(sum(alone, 1), input(alone));
    }
    schedule.end_round();
    sums = add(sums, round);
    round = {.held = round.half, .half = (round.half + 1) / 2};
  }
}

}  // namespace stretto
