// SPDX-License-Identifier: Apache-2.0
// Swing: recursive halving and doubling whose partners swing from one side to the other. In step s an even
// rank r exchanges with r + rho(s), an odd one with r - rho(s) (mod p), where rho = 1, -1, 3, -5, 11, … is
// the sum of (-2)^i for i up to s. Distances are about a third shorter than 1, 2, 4, …, so on a ring or
// torus messages cross fewer links and share them with fewer others. On a flat network it performs like
// rabenseifner.
//
// 2 log2(p) rounds, 2(p-1)/p of the message (the bandwidth-optimal variant); two more rounds if p is no
// power of two (among_core.hpp).
//
// After s steps, rank r is responsible for the blocks of the ranks that it can reach in later steps. These
// are the even ranks that equal e modulo 2^(s+1) and the odd ones that equal e + rho(s), where e is r or r -
// rho(s). So the bits of e, from the lowest up, name ever smaller sets. A rank that has the bit of its step
// set continues with the upper half of its run, so a set of scattered blocks becomes a run.
//
// After s steps, a rank has the contributions of a run of 2^s ranks, modulo p. From 8 ranks on, some runs go
// past the end: that breaks rank order, and the lowest rank of such a run is 0, not its first.
//
// Source: De Sensi, Bonato, Saam, Hoefler 2024 (NSDI), "Swing: Short-cutting Rings for Higher Bandwidth
// Allreduce".
#include <cstdlib>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/among_core.hpp"

namespace stretto::allreduce {
namespace {

std::vector<int> rhos(int size) {
  std::vector<int> result;
  for (int power = 1, sum = 1; std::abs(power) < size; power *= -2, sum += power) result.push_back(sum);
  return result;
}

std::vector<HalvingWith> swings(const Core& core, int me) {
  const int size = core.size();
  const std::vector<int> rho = rhos(size);
  const auto wrap = [size](int number) { return number & (size - 1); };
  const auto partner_of = [&](int number, int distance) {
    return wrap(number % 2 == 0 ? number + distance : number - distance);
  };
  // An even rank has the contributions of the ranks from `low` to `high` after it. An odd rank has the mirror
  // image.
  int low = 0;
  int high = 0;
  const auto lowest_of = [&](int number) {
    const int begin = wrap(number % 2 == 0 ? number + low : number - high);
    return begin + high - low < size ? begin : 0;
  };

  std::vector<HalvingWith> steps;
  const int even = me % 2 == 0 ? me : partner_of(me, rho.back());
  int first = 0;
  for (std::size_t s = 0; s < rho.size(); ++s) {
    const int partner = partner_of(me, rho[s]);
    const int half = size >> (s + 1);
    const bool upper = s + 1 < rho.size() ? ((even >> (s + 1)) & 1) != 0 : me % 2 != 0;
    steps.push_back({.partner = core.rank_of(partner),
                     .arriving = lowest_of(partner) < lowest_of(me) ? Side::left : Side::right,
                     .kept = first + (upper ? half : 0),
                     .given = first + (upper ? 0 : half),
                     .count = half});
    first = steps.back().kept;
    if (rho[s] > 0) {
      high = rho[s] - low;
    } else {
      low = rho[s] - high;
    }
  }
  return steps;
}

}  // namespace

Schedule swing(const Task& task, int rank) {
  const Core core(task.ranks());
  return among_core(core, task.ranks(), rank, core.size(), [&](Schedule& schedule, Buffer mine) {
    halve_and_double(schedule, mine, swings(core, core.core_of(rank)));
  });
}

bool swing_keeps_order(const Task& task) {
  return task.ranks() < 8;
}

}  // namespace stretto::allreduce
