// SPDX-License-Identifier: Apache-2.0
#include "learn/races/background_race.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stretto {
namespace {

/// The time of a call that has not ended.
constexpr double unfinished = 1e300;

/// Without a library, so many calls come before the first measurement: a program that makes only a few calls
/// gains nothing from it.
constexpr int spared_without_library = 8;

}  // namespace

BackgroundRace::BackgroundRace(Spec defender, std::vector<Spec> challengers, std::vector<Stage> stages)
    : defender_(std::move(defender)),
      challengers_(std::move(challengers)),
      in_force_(defender_),
      stages_(std::move(stages)),
      trial_(stages_) {
  forget_seconds();
}

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
  stages.front().wins_from = 2 * terms.saved_seconds;
  std::shared_ptr<BackgroundRace> race(
      new BackgroundRace(std::move(choice), std::move(challengers), std::move(stages)));
  race->saved_seconds_ = terms.saved_seconds;
  race->rest_.emplace(policies::rest_of_background);
  race->quiet_ = terms.is_decided ? race->rest_->after(0) : spared_without_library;
  return race;
}

void BackgroundRace::forget_seconds() {
  for (std::atomic<double>& one : seconds_) one.store(unfinished, std::memory_order_relaxed);
}

BackgroundRace::Turn BackgroundRace::next() {
  if (wants_agreement()) return {&in_force_, std::nullopt};
  if (quiet_ > 0) {
    --quiet_;
    return {&in_force_, std::nullopt};
  }
  const std::size_t call = started_++;
  const bool is_challengers = trial_.side_of(call / calls_of_turn()) == Trial::Side::challenger;
  return {is_challengers ? &challenger() : &defender_, call};
}

/// The time of a turn is the mean of its second half: by then, its calls have used up what links had saved.
std::vector<double> BackgroundRace::figures() const {
  std::vector<double> all;
  const std::size_t calls = calls_of_turn();
  for (std::size_t end = calls; end <= calls_of_stage(); end += calls) {
    const std::size_t begin = end - (calls + 1) / 2;
    double sum = 0;
    for (std::size_t call = end - calls; call < end; ++call) {
      const double seconds = seconds_[call].load(std::memory_order_relaxed);
      if (call >= begin || seconds >= unfinished) sum += seconds;
    }
    all.push_back(sum / static_cast<double>(end - begin));
  }
  return all;
}

bool BackgroundRace::are_unfinished(std::span<const double> agreed) {
  return std::ranges::any_of(agreed, [](double one) { return !(one < unfinished / most_calls); });
}

/// Makes the turns of the next stage so long that links cannot have saved up so many bytes.
void BackgroundRace::lengthen_turns(std::span<const double> agreed) {
  std::vector<double> sorted(agreed.begin(), agreed.end());
  std::ranges::sort(sorted);
  const double call = sorted[sorted.size() / 2];
  const double calls = call > 0 ? std::ceil(2 * saved_seconds_ / call) : 0;
  const int least = policies::background_without_library.back().calls;
  stages_.back().calls =
      std::clamp(static_cast<int>(std::min(calls, double{most_calls})), least, int{most_calls});
}

void BackgroundRace::agree(std::span<const double> agreed) {
  if (are_unfinished(agreed)) return;
  if (rest_ && calls_of_turn() == 1) lengthen_turns(agreed);
  const Trial::Verdict verdict = trial_.agree(agreed);
  started_ = 0;
  forget_seconds();
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
