// SPDX-License-Identifier: Apache-2.0
#include "learn/races/background_race.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stretto {
namespace {

/// The time of a turn that has not ended.
constexpr double unfinished = 1e300;

/// On links that have saved up bytes, a spec that sends fewer of them may take this multiple of the other's
/// time, and yet less in a row.
constexpr double hopeless_on_saved = 3;

/// A turn lasts for this multiple of the time that links save, unless it has too many calls. Its second half
/// counts. By then, a spec is as slow as it will be if it asks for 1.4 times what the links carry.
constexpr double saved_of_turn = 5;
constexpr double most_calls = 512;

/// Without a library, so many calls come before the first measurement: a program that makes only a few calls
/// gains nothing from it.
constexpr int spared_without_library = 8;

}  // namespace

BackgroundRace::BackgroundRace(Spec defender, std::vector<Spec> challengers, std::vector<Stage> stages)
    : defender_(std::move(defender)),
      challengers_(std::move(challengers)),
      in_force_(defender_),
      stages_(std::move(stages)),
      trial_(stages_) {}

std::shared_ptr<BackgroundRace> BackgroundRace::with_library(Spec choice, Spec library) {
  const auto& stages = policies::background;
  std::shared_ptr<BackgroundRace> race(
      new BackgroundRace(std::move(library), {choice}, {stages.begin(), stages.end()}));
  race->in_force_ = std::move(choice);
  return race;
}

std::shared_ptr<BackgroundRace> BackgroundRace::without_library(Spec choice, std::vector<Spec> challengers,
                                                                const Terms& terms) {
  std::vector<Stage> stages(policies::background_without_library.begin(),
                            policies::background_without_library.end());
  if (terms.saved_seconds > 0) {
    Stage& first = stages.front();
    first.wins_from = 2 * terms.saved_seconds;
    first.short_below = std::max(first.short_below, first.wins_from);
    first.loses_above_if_short = hopeless_on_saved;
  }
  std::shared_ptr<BackgroundRace> race(
      new BackgroundRace(std::move(choice), std::move(challengers), std::move(stages)));
  race->saved_seconds_ = terms.saved_seconds;
  race->rest_.emplace(policies::rest_of_background);
  race->quiet_ = terms.is_decided ? race->rest_->after(0) : spared_without_library;
  return race;
}

BackgroundRace::Turn BackgroundRace::next() {
  if (wants_agreement()) return {&in_force_, std::nullopt};
  if (quiet_ > 0) {
    --quiet_;
    return {&in_force_, std::nullopt};
  }
  const std::size_t call = started_++;
  const std::size_t calls = calls_of_turn();
  const Slot slot{.turn = call / calls, .counts = call % calls >= calls / 2};
  return {trial_.side_of(slot.turn) == Trial::Side::challenger ? &challenger() : &defender_, slot};
}

/// The time of a turn is the mean of its second half: by then, its calls have used up what links had saved.
std::vector<double> BackgroundRace::figures() const {
  const std::size_t calls = calls_of_turn();
  const std::size_t counted = calls - calls / 2;
  std::vector<double> all;
  for (const Measure& measure : std::span(measures_).first(trial_.stage().turns.size())) {
    const bool has_ended = measure.ended.load(std::memory_order_acquire) == calls;
    const double sum = measure.seconds.load(std::memory_order_relaxed);
    all.push_back(has_ended ? sum / static_cast<double>(counted) : unfinished);
  }
  return all;
}

bool BackgroundRace::are_unfinished(std::span<const double> agreed) {
  return std::ranges::any_of(agreed, [](double one) { return !(one < unfinished); });
}

/// Makes the turns of the next stages so long that links cannot have saved up so many bytes.
void BackgroundRace::lengthen_turns(std::span<const double> agreed) {
  const double call = std::ranges::min(agreed);  // calls in a row may take less than single ones
  const double calls = call > 0 ? std::ceil(saved_of_turn * saved_seconds_ / call) : 0;
  const double least = policies::background_without_library.back().calls;
  for (Stage& stage : std::span(stages_).subspan(1))
    stage.calls = static_cast<int>(std::clamp(calls, least, most_calls));
}

void BackgroundRace::agree(std::span<const double> agreed) {
  if (are_unfinished(agreed)) return;
  if (rest_ && calls_of_turn() == 1) lengthen_turns(agreed);
  const Trial::Verdict verdict = trial_.agree(agreed);
  started_ = 0;
  for (Measure& measure : measures_) {
    measure.seconds.store(0, std::memory_order_relaxed);
    measure.ended.store(0, std::memory_order_relaxed);
  }
  if (verdict == Trial::Verdict::open) return;
  if (verdict == Trial::Verdict::challenger) {
    gain_ = (gain_ > 0 ? gain_ : 1) / trial_.ratio();
    seconds_in_force_ = trial_.time_of(Trial::Side::challenger);
    std::swap(defender_, challengers_[tried_]);
    if (rest_) rest_->begin_anew();
  } else {
    seconds_in_force_ = trial_.time_of(Trial::Side::defender);
    calls_lost_ += trial_.calls_lost(Trial::Side::challenger);
  }
  in_force_ = defender_;
  trial_ = Trial(stages_);
  if (++tried_ == challengers_.size()) end_round();
}

void BackgroundRace::end_round() {
  outcome_ = Outcome{.spec = in_force_, .gain = gain_, .seconds = seconds_in_force_};
  tried_ = 0;
  quiet_ = rest_ ? rest_->after(calls_lost_) : std::numeric_limits<std::uint64_t>::max();
  gain_ = calls_lost_ = 0;
}

}  // namespace stretto
