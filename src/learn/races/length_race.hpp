// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "learn/races/rest.hpp"
#include "select/spec.hpp"

namespace stretto {

/// Finds out whether calls whose lengths only pairs of ranks know, as of MPI_Alltoallv, are faster by a spec
/// or by `native`. No rank knows how long a call is when it begins, so the choice cannot depend on that; but
/// ranks can agree on how long the calls before it were. A race has three stages, and the ranks agree after
/// each of them:
///
/// 1. A few calls show what lengths the program uses. By these the caller proposes a spec.
/// 2. Both sides make a few calls by turns. A spec that is plainly slower loses at once.
/// 3. Both sides make more calls by turns, in blocks.
///
/// Calls of a mix of lengths cannot be compared one with another, and the two sides may get different mixes.
/// So calls are compared in classes: those with as many bytes, to a factor of two, on the rank that moves
/// most. What wins is in force until the race is repeated, more and more seldom.
///
/// Its decisions depend only on the number of calls and on what the ranks have agreed on.
class LengthRace {
 public:
  static constexpr std::size_t calls_of_look = 8;
  static constexpr std::size_t calls_of_trial = 12;
  static constexpr std::size_t calls_of_race = 48;
  static constexpr std::size_t calls_of_block = 4;
  /// Bytes and seconds of each call of a stage.
  using Figures = std::array<double, 2 * calls_of_race>;

  /// The spec of the next call.
  [[nodiscard]] const Spec& next() const;
  /// Whether the next call is not part of the race. Then call pass() for it, else count() after it.
  [[nodiscard]] bool is_quiet() const { return quiet_ > 0; }
  void pass() { --quiet_; }
  /// `bytes`: what this rank sent and received.
  void count(double bytes, double seconds);

  /// Whether the ranks must agree before the next call: a stage has ended.
  [[nodiscard]] bool wants_agreement() const { return quiet_ == 0 && calls_.size() == length_of_stage(); }
  [[nodiscard]] Figures figures() const;
  void agree(const Figures& maxima);

  /// Whether a spec is to be proposed, before the next call.
  [[nodiscard]] bool wants_spec() const { return stage_ == Stage::trial && calls_.empty(); }
  /// The bytes of the usual call, on the rank that moved most.
  [[nodiscard]] double usual_bytes() const { return usual_bytes_; }
  /// `native`: nothing is known to be faster for such calls.
  void propose(Spec spec);

  /// What is in force, as far as that was decided.
  [[nodiscard]] const Spec& winner() const { return winner_; }

  static constexpr std::uint64_t first_rest = 128;
  static constexpr std::uint64_t longest_rest = std::uint64_t{1} << 16;

 private:
  static constexpr Rest::Limits rests{
      .share = 0.005, .first = first_rest, .longest = longest_rest, .most = longest_rest};
  enum class Stage : std::uint8_t { look, trial, race };
  enum class Side : std::uint8_t { native, spec };
  struct Timed {
    double bytes;
    double seconds;
  };

  [[nodiscard]] std::size_t length_of_stage() const;
  [[nodiscard]] std::size_t calls_of_turn() const;
  [[nodiscard]] Side side_of(std::size_t call) const;
  [[nodiscard]] bool is_counted(std::size_t call) const;
  [[nodiscard]] double slowdown(const Figures& maxima) const;
  void decide(double slowdown);
  void rest_for(double lost_calls);

  Stage stage_ = Stage::look;
  Spec native_;
  Spec spec_;  // under trial
  Spec winner_;
  std::vector<Timed> calls_;  // of the stage
  double usual_bytes_ = 0;
  std::uint64_t quiet_ = 0;  // calls until the next race
  Rest rest_{rests};
};

}  // namespace stretto
