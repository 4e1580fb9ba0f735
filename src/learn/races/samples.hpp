// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stretto {

/// Returns the median; of an even number of samples, the mean of the middle two; of none, 0.
inline double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::ranges::sort(samples);
  const std::size_t half = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
}

/// Returns in how many of all pairs the first side's sample is not the lower one (Mann-Whitney).
inline std::size_t count_lost_pairs(const std::vector<double>& first, const std::vector<double>& second) {
  std::size_t lost = 0;
  for (const double one : first) {
    lost +=
        static_cast<std::size_t>(std::ranges::count_if(second, [one](double other) { return one >= other; }));
  }
  return lost;
}

}  // namespace stretto
