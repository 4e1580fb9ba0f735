// SPDX-License-Identifier: Apache-2.0
#include "learn/races/background_race.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "learn/races/samples.hpp"

namespace stretto {
namespace {

/// Two calls by each side in turns: c c l l l l c c and again. The first four do not count: they make
/// schedules, buffers and connections.
constexpr bool is_by_choice(std::size_t call) {
  return call % 8 < 2 || call % 8 >= 6;
}
constexpr std::size_t uncounted = 4;
/// The choice must be faster by this share.
constexpr double margin = 0.03;
/// At most so many of the 36 pairs of calls may have a slower choice: one-sided error probability 5 %
/// (Mann-Whitney).
constexpr std::size_t most_lost_pairs = 7;

}  // namespace

BackgroundRace::BackgroundRace(Spec choice, Spec library)
    : choice_(std::move(choice)), library_(std::move(library)) {
  for (std::atomic<double>& one : seconds_) one = unfinished;
}

BackgroundRace::Turn BackgroundRace::next() {
  if (winner_) return {&winner_->spec, std::nullopt};
  if (started_ >= measured_calls) return {&choice_, std::nullopt};
  const std::size_t call = started_++;
  return {is_by_choice(call) ? &choice_ : &library_, call};
}

BackgroundRace::Figures BackgroundRace::figures() const {
  Figures all{};
  std::ranges::transform(seconds_, all.begin(),
                         [](const std::atomic<double>& one) { return one.load(std::memory_order_relaxed); });
  return all;
}

void BackgroundRace::agree(const Figures& maxima) {
  if (std::ranges::any_of(maxima, [](double one) { return !(one < unfinished); })) return;
  std::vector<double> of_choice;
  std::vector<double> of_library;
  for (std::size_t call = uncounted; call < measured_calls; ++call) {
    (is_by_choice(call) ? of_choice : of_library).push_back(maxima.at(call));
  }
  const std::size_t lost = count_lost_pairs(of_choice, of_library);
  const double choice = median(of_choice);
  const double library = median(of_library);
  const bool is_faster = choice < (1 - margin) * library && lost <= most_lost_pairs;
  if (is_faster) {
    winner_ = Outcome{.spec = choice_, .gain = choice > 0 ? library / choice : 0, .seconds = choice};
  } else {
    winner_ = Outcome{.spec = library_, .gain = 0, .seconds = library};
  }
}

}  // namespace stretto
