// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "learn/races/policies.hpp"
#include "learn/races/rest.hpp"
#include "learn/races/trial.hpp"
#include "select/spec.hpp"

namespace stretto {

/// Compares specs for non-blocking calls of one kind: a defender with one challenger after another. With an
/// MPI library, the library's own call defends itself against the choice, once. Without one, the choice
/// defends itself against other specs, again and again: the first calls may be fast because links were idle
/// before, and a network may change. The time of a call is that which the program spends on it: its start,
/// and from the first test or wait until the call has ended. The program's computation in between does not
/// count.
///
/// A non-blocking call may not wait for other ranks, so the ranks agree later, in a way that the user of this
/// class has. What a race does depends only on the number of calls and on what the ranks agree on. As the
/// sequence of collectives is the same on all ranks, all ranks change together.
class BackgroundRace {
 public:
  /// The MPI library's own call against the choice, which is in force until the ranks have agreed.
  static std::shared_ptr<BackgroundRace> with_library(Spec choice, Spec library);
  struct Terms {
    /// The choice has won a race of an earlier job, so this one begins later.
    bool is_decided = false;
    /// Calls may take so much less time in all, because of the bytes that idle links have saved up. Specs
    /// load different links, so whatever is new seems fast.
    double saved_seconds = 0;
  };
  /// The choice against others. It stays in force until one of them has won.
  static std::shared_ptr<BackgroundRace> without_library(Spec choice, std::vector<Spec> challengers,
                                                         const Terms& terms);

  /// What the time of a measured call is for.
  struct Slot {
    std::size_t turn = 0;
    bool counts = false;  // whether the call is of the second half: links have saved up nothing for it
  };
  struct Turn {
    const Spec* spec = nullptr;
    std::optional<Slot> slot;  // for count(); nothing: not measured
  };
  /// The spec of the next call.
  Turn next();
  /// To be called when a measured call has ended, in any thread.
  void count(const Slot& slot, double seconds) {
    Measure& measure = measures_.at(slot.turn);
    if (slot.counts) measure.seconds.fetch_add(seconds, std::memory_order_relaxed);
    measure.ended.fetch_add(1, std::memory_order_release);
  }

  /// Whether the calls of a stage have been started, and nothing was decided by them yet. All ranks get the
  /// same answer.
  [[nodiscard]] bool wants_agreement() const { return started_ == calls_of_stage(); }
  [[nodiscard]] std::vector<double> figures() const;
  /// Goes on by the greatest figures of all ranks. Changes nothing if a call has not ended on some rank.
  void agree(std::span<const double> agreed);

  /// The spec of calls that are not measured.
  [[nodiscard]] const Spec& in_force() const { return in_force_; }
  /// The spec that is compared with that of the defender.
  [[nodiscard]] const Spec& challenger() const { return challengers_[tried_]; }

  struct Outcome {
    Spec spec;
    double gain = 0;     // times faster than the first defender; 0: that one has won
    double seconds = 0;  // that the program spends on a call; 0: not known
  };
  /// The winner, once all challengers have been tried.
  [[nodiscard]] const std::optional<Outcome>& outcome() const { return outcome_; }
  [[nodiscard]] bool is_resting() const { return quiet_ > 0; }

  /// The comparison in its present state, for whoever must judge by figures before agree() is called.
  [[nodiscard]] const Trial& trial() const { return trial_; }
  /// Whether calls of the stage have not ended on some rank, by these figures.
  static bool are_unfinished(std::span<const double> agreed);

 private:
  static constexpr std::size_t most_turns = 16;
  /// The measured calls of a turn.
  struct Measure {
    std::atomic<double> seconds{0};  // of those that count
    std::atomic<std::size_t> ended{0};
  };

  BackgroundRace(Spec defender, std::vector<Spec> challengers, std::vector<Stage> stages);
  [[nodiscard]] std::size_t calls_of_turn() const { return static_cast<std::size_t>(trial_.stage().calls); }
  [[nodiscard]] std::size_t calls_of_stage() const { return trial_.stage().turns.size() * calls_of_turn(); }
  void lengthen_turns(std::span<const double> agreed);
  void end_round();

  Spec defender_;
  std::vector<Spec> challengers_;  // and those whom the defender has beaten
  Spec in_force_;
  std::vector<Stage> stages_;
  double saved_seconds_ = 0;
  std::optional<Rest> rest_;  // nothing: the race is not repeated
  std::uint64_t quiet_ = 0;   // calls until the next stage
  std::size_t tried_ = 0;     // challengers
  std::size_t started_ = 0;   // calls of the stage
  Trial trial_;
  std::array<Measure, most_turns> measures_;
  // Of the present round.
  double gain_ = 0;  // 0: no challenger has won
  double seconds_in_force_ = 0;
  double calls_lost_ = 0;
  std::optional<Outcome> outcome_;
};

}  // namespace stretto
