// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stretto {

/// What learning costs, in seconds that all ranks have agreed on: the slowest rank's.
class Ledger {
 public:
  /// The time of this many calls in all.
  void add_calls(double seconds, std::uint64_t calls);
  void add_agreement(double seconds);
  void lose(double seconds) { lost_ += seconds; }
  void win(double seconds) { won_ += seconds; }
  /// Takes over the calls and losses of another one, which was for the network before it changed.
  void take_over(const Ledger& other);

  /// Of a recent call, and of an agreement on average; 0: none was counted.
  [[nodiscard]] double call() const { return call_; }
  [[nodiscard]] double agreement() const { return agreement_; }

  /// What duels may still lose: a share of the time of all calls, or of the first 200, and a part of what was
  /// won.
  [[nodiscard]] double left_for_duels(double native_seconds) const;
  /// Calls after which that has grown by so much, if each wins as much.
  [[nodiscard]] static double calls_to_earn(double seconds, double native_seconds, double won_each);
  /// Whether a change of the network may be acted upon: what was lost before the last one is paid. So the
  /// first change never waits, and a network that seems to change all the time costs no more than the ration
  /// and the losses since the last change.
  [[nodiscard]] bool allows_change() const;

 private:
  double seconds_ = 0;
  double lost_ = 0;         // by duels and agreements
  double lost_before_ = 0;  // of these, before the last change of the network
  double won_ = 0;          // by calls that were faster than `native`
  double call_ = 0;
  double recent_ = 0;
  std::uint64_t recent_calls_ = 0;
  double agreements_lost_ = 0;
  std::uint64_t agreements_ = 0;
  double agreement_ = 0;
};

}  // namespace stretto
