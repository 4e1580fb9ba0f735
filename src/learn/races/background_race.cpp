// SPDX-License-Identifier: Apache-2.0
#include "learn/races/background_race.hpp"

#include <algorithm>
#include <utility>

namespace stretto {
namespace {

/// The time of a call that has not ended.
constexpr double unfinished = 1e300;

/// Without a library, so many calls come before the first measurement: a program that makes only a few calls
/// gains nothing from it.
constexpr int spared_without_library = 8;

}  // namespace

BackgroundRace::BackgroundRace(Spec defender, std::vector<Spec> challengers, Stages stages)
    : defender_(std::move(defender)),
      challengers_(std::move(challengers)),
      in_force_(defender_),
      stages_(stages),
      trial_(stages) {
  forget_seconds();
}

std::shared_ptr<BackgroundRace> BackgroundRace::with_library(Spec choice, Spec library) {
  std::shared_ptr<BackgroundRace> race(
      new BackgroundRace(std::move(library), {choice}, policies::background));
  race->in_force_ = std::move(choice);
  return race;
}

std::shared_ptr<BackgroundRace> BackgroundRace::without_library(Spec choice, std::vector<Spec> challengers,
                                                                bool is_decided) {
  std::shared_ptr<BackgroundRace> race(
      new BackgroundRace(std::move(choice), std::move(challengers), policies::background_without_library));
  race->rest_.emplace(policies::rest_of_background);
  race->quiet_ = is_decided ? race->rest_->after(0) : spared_without_library;
  return race;
}

void BackgroundRace::forget_seconds() {
  for (std::atomic<double>& one : seconds_) one.store(unfinished, std::memory_order_relaxed);
}

BackgroundRace::Turn BackgroundRace::next() {
  if (started_ == turns()) return {&in_force_, std::nullopt};
  if (quiet_ > 0) {
    --quiet_;
    return {&in_force_, std::nullopt};
  }
  const std::size_t call = started_++;
  return {trial_.side_of(call) == Trial::Side::challenger ? &challenger() : &defender_, call};
}

std::vector<double> BackgroundRace::figures() const {
  std::vector<double> all;
  for (const std::atomic<double>& one : std::span(seconds_).first(turns()))
    all.push_back(one.load(std::memory_order_relaxed));
  return all;
}

bool BackgroundRace::are_unfinished(std::span<const double> agreed) {
  return std::ranges::any_of(agreed, [](double one) { return !(one < unfinished); });
}

void BackgroundRace::agree(std::span<const double> agreed) {
  if (are_unfinished(agreed)) return;
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
