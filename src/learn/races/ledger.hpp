// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stretto {

/// Accounts for what learning costs, in seconds of the slowest rank, on which all ranks have agreed.
class Ledger {
 public:
  /// Adds calls that took `seconds` in all.
  void add_calls(double seconds, std::uint64_t calls);
  void add_agreement(double seconds);
  void lose(double seconds) { lost_ += seconds; }
  void win(double seconds) { won_ += seconds; }
  /// Takes over the calls and losses of the ledger for the network before it changed.
  void take_over(const Ledger& other);

  /// The time of a recent call, and of an agreement on average; 0: none was counted.
  [[nodiscard]] double call() const { return call_; }
  [[nodiscard]] double agreement() const { return agreement_; }

  /// The seconds that duels may still lose: a share of the time of all calls (at least of 200) and a part of
  /// what was won.
  [[nodiscard]] double left_for_duels(double native_seconds) const;
  /// Returns the number of calls after which that has grown by `seconds`, if each call wins `won_each`.
  [[nodiscard]] static double calls_to_earn(double seconds, double native_seconds, double won_each);
  /// Whether a change of the network may be acted upon: the losses before the last change are paid. So the
  /// first change never waits, and a network that seems to change all the time costs no more than the ration
  /// and the losses since the last change.
  [[nodiscard]] bool allows_change() const;

 private:
  double seconds_ = 0;
  double lost_ = 0;         // in duels and agreements
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
