// SPDX-License-Identifier: Apache-2.0
#include "learn/races/late_rank.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stretto {
namespace {

/// A rank's figure is one whole number that a double can hold: microseconds and the rank.
constexpr double micro = 1e-6;
constexpr int most_ranks = 1 << 20;
constexpr double most_micros = 1e9;
/// The figure of ranks that know nothing. It means more than any time.
constexpr double unknown = -most_micros * most_ranks;

/// A rank is late if the others wait for it for at least this share of a call's time.
constexpr double least_late = 0.2;

}  // namespace

void LateRank::append_figures(std::vector<double>& figures, int rank, double usual) const {
  const double micros = std::floor(usual / micro);
  const bool is_known = micros >= 1 && micros < most_micros && rank < most_ranks;
  // The greatest figure is that of the rank with the shortest calls; among equals, that of the lowest rank.
  figures.push_back(is_known ? -micros * most_ranks - rank : unknown);
  figures.push_back(is_known && rank != suspect_ ? -micros : -most_micros);
}

void LateRank::look(std::span<const double> agreed) {
  found_.reset();
  if (!(agreed[0] > unknown)) return;
  const double micros = std::floor(-agreed[0] / most_ranks);
  const int rank = static_cast<int>(-agreed[0] - micros * most_ranks);
  const bool was_suspected = rank == std::exchange(suspect_, rank);
  const double others = -agreed[1];
  if (!was_suspected || others >= most_micros || others - micros < least_late * micros) return;
  found_ = {.rank = rank, .seconds = (others - micros) * micro, .call_seconds = micros * micro};
}

}  // namespace stretto
