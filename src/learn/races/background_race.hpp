// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "learn/races/policies.hpp"
#include "learn/races/trial.hpp"
#include "select/spec.hpp"

namespace stretto {

/// Compares the choice for non-blocking calls of one kind with the MPI library's own call. A fixed number of
/// calls is measured, in turns of each side. The time of a call is that which the program spends on it: its
/// start, and from the first test or wait until the call has ended. The program's computation in between does
/// not count.
///
/// A non-blocking call may not wait for other ranks, so the ranks agree in a later blocking collective on the
/// same communicator. Until then the choice is in force. As MPI makes the sequence of collectives the same on
/// all ranks, all ranks change together.
class BackgroundRace {
 public:
  static constexpr std::size_t measured_calls = policies::background[0].turns.size();

  BackgroundRace(Spec choice, Spec library);

  struct Turn {
    const Spec* spec = nullptr;
    std::optional<std::size_t> slot;  // of the measurement, for count(); nothing: not measured
  };
  /// The spec of the next call.
  Turn next();
  /// To be called when a measured call has ended, in any thread.
  void count(std::size_t slot, double seconds) {
    seconds_.at(slot).store(seconds, std::memory_order_relaxed);
  }

  /// Whether all measured calls have been started and nothing is decided yet. All ranks get the same answer.
  [[nodiscard]] bool wants_agreement() const { return started_ >= measured_calls && !winner_; }
  [[nodiscard]] std::vector<double> figures() const;
  /// Decides by the greatest figures of all ranks. Decides nothing if a call has not ended on some rank.
  void agree(std::span<const double> agreed);

  struct Outcome {
    Spec spec;
    double gain = 0;     // times faster than the MPI library's own call; 0: that call has won
    double seconds = 0;  // that the program spends on a call
  };
  [[nodiscard]] std::optional<Outcome> outcome() const { return winner_; }

 private:
  Spec choice_;   // the challenger
  Spec library_;  // the defender
  Trial trial_{policies::background};
  std::size_t started_ = 0;
  std::array<std::atomic<double>, measured_calls> seconds_;
  std::optional<Outcome> winner_;
};

}  // namespace stretto
