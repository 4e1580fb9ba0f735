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

std::shared_ptr<BackgroundRace> BackgroundRace::without_library(Spec choice, std::vector<Spec> challengers) {
  std::shared_ptr<BackgroundRace> race(
      new BackgroundRace(std::move(choice), std::move(challengers), policies::background_without_library));
  race->spared_ = spared_without_library;
  return race;
}

void BackgroundRace::forget_seconds() {
  for (std::atomic<double>& one : seconds_) one.store(unfinished, std::memory_order_relaxed);
}

BackgroundRace::Turn BackgroundRace::next() {
  if (is_over() || started_ == turns()) return {&in_force_, std::nullopt};
  if (spared_ > 0) {
    --spared_;
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
    has_won_ = true;
    gain_ /= trial_.ratio();
    seconds_in_force_ = trial_.time_of(Trial::Side::challenger);
    defender_ = challenger();
  } else {
    seconds_in_force_ = trial_.time_of(Trial::Side::defender);
  }
  in_force_ = defender_;
  ++tried_;
  trial_ = Trial(stages_);
}

std::optional<BackgroundRace::Outcome> BackgroundRace::outcome() const {
  if (!is_over()) return std::nullopt;
  return Outcome{.spec = in_force_, .gain = has_won_ ? gain_ : 0, .seconds = seconds_in_force_};
}

}  // namespace stretto
