// SPDX-License-Identifier: Apache-2.0
#include "learn/races/background_race.hpp"

#include <algorithm>
#include <utility>

namespace stretto {
namespace {

/// The time of a call that has not ended.
constexpr double unfinished = 1e300;

}  // namespace

BackgroundRace::BackgroundRace(Spec choice, Spec library)
    : choice_(std::move(choice)), library_(std::move(library)) {
  for (std::atomic<double>& one : seconds_) one = unfinished;
}

BackgroundRace::Turn BackgroundRace::next() {
  if (winner_) return {&winner_->spec, std::nullopt};
  if (started_ >= measured_calls) return {&choice_, std::nullopt};
  const std::size_t call = started_++;
  return {trial_.side_of(call) == Trial::Side::challenger ? &choice_ : &library_, call};
}

std::vector<double> BackgroundRace::figures() const {
  std::vector<double> all;
  for (const std::atomic<double>& one : seconds_) all.push_back(one.load(std::memory_order_relaxed));
  return all;
}

void BackgroundRace::agree(std::span<const double> agreed) {
  if (std::ranges::any_of(agreed, [](double one) { return !(one < unfinished); })) return;
  const bool is_faster = trial_.agree(agreed) == Trial::Verdict::challenger;
  const double seconds = trial_.time_of(is_faster ? Trial::Side::challenger : Trial::Side::defender);
  winner_ = Outcome{
      .spec = is_faster ? choice_ : library_, .gain = is_faster ? 1 / trial_.ratio() : 0, .seconds = seconds};
}

}  // namespace stretto
