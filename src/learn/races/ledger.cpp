// SPDX-License-Identifier: Apache-2.0
#include "learn/races/ledger.hpp"

#include <algorithm>

namespace stretto {
namespace {

/// The time of a recent call is measured over at least this many calls.
constexpr std::uint64_t least_recent = 16;
/// Duels may lose this share of the time of all calls, or of `first_calls` at first.
constexpr double share_of_duels = 0.009;
constexpr double first_calls = 200;
/// The share of what was won that may be spent on more duels.
constexpr double share_of_won = 0.25;
constexpr double most_lost = 0.02;

}  // namespace

void Ledger::add_calls(double seconds, std::uint64_t calls) {
  seconds_ += seconds;
  recent_ += seconds;
  recent_calls_ += calls;
  if (recent_calls_ == 0 || (recent_calls_ < least_recent && call_ > 0)) return;
  call_ = recent_ / static_cast<double>(recent_calls_);
  recent_ = 0;
  recent_calls_ = 0;
}

void Ledger::add_agreement(double seconds) {
  lost_ += seconds;
  agreements_lost_ += seconds;
  agreement_ = agreements_lost_ / static_cast<double>(++agreements_);
}

void Ledger::take_over(const Ledger& other) {
  seconds_ = other.seconds_;
  lost_ = lost_before_ = other.lost_;
}

double Ledger::left_for_duels(double native_seconds) const {
  return share_of_duels * std::max(seconds_, first_calls * native_seconds) + share_of_won * won_ - lost_;
}

double Ledger::calls_to_earn(double seconds, double native_seconds, double won_each) {
  return seconds / (share_of_duels * native_seconds + share_of_won * won_each);
}

bool Ledger::allows_change() const {
  return lost_before_ <= most_lost * std::max(seconds_, first_calls * call_);
}

}  // namespace stretto
