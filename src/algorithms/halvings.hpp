// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace stretto {

/// A step of recursive halving: two partners hold the same run of blocks, and each continues with one half.
struct Halving {
  int distance;  // to the partner: their numbers differ in this bit
  int kept;      // first block of the half that this rank continues with
  int given;     // first block of the half that the partner continues with
  int count;     // blocks of a half
};

/// Returns the steps of one of `numbers` participants, a power of two, with as many blocks. The distance
/// grows (1, 2, 4, …) while the run shrinks. So partners always hold neighbouring runs of ranks, which keeps
/// rank order. The lower partner continues with the lower half.
inline std::vector<Halving> halvings(int numbers, int me) {
  std::vector<Halving> steps;
  int first = 0;
  for (int distance = 1; distance < numbers; distance *= 2) {
    const int half = numbers / (2 * distance);
    const bool upper = (me & distance) != 0;
    steps.push_back({.distance = distance,
                     .kept = first + (upper ? half : 0),
                     .given = first + (upper ? 0 : half),
                     .count = half});
    first = steps.back().kept;
  }
  return steps;
}

}  // namespace stretto
