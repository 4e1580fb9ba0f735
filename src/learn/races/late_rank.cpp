// SPDX-License-Identifier: Apache-2.0
#include "learn/races/late_rank.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stretto {
namespace {

/// The figure of a rank is one whole number, which a double holds: microseconds, and the rank.
constexpr double micro = 1e-6;
constexpr int most_ranks = 1 << 20;
constexpr double most_micros = 1e9;
/// What ranks that know nothing say: more than any time.
constexpr double unknown = -most_micros * most_ranks;

/// A rank is late if the others wait for it at least this share of what a call takes.
constexpr double least_late = 0.2;

}  // namespace

void LateRank::append_figures(std::vector<double>& figures, int rank, double usual) const {
  const double micros = std::floor(usual / micro);
  const bool is_known = micros >= 1 && micros < most_micros && rank < most_ranks;
  // The greatest is that of the shortest calls, and of the lowest rank among equals.
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
