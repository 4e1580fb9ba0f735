// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace stretto {

/// A step of recursive halving: partners are in charge of the same run of blocks, and each goes on with a
/// half.
struct Halving {
  int distance;  // to the partner's number: they differ in this bit
  int kept;      // first block of the half that this one goes on with
  int given;     // first block of the half that the partner goes on with
  int count;     // blocks of a half
};

/// The steps of one of `numbers` participants, a power of two, and as many blocks. The distance grows (1, 2,
/// 4, …) while the run shrinks: partners then always hold neighbouring runs of ranks, which keeps rank order.
/// The lower one goes on with the lower half.
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
