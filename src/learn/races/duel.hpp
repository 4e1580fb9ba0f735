// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stretto {

/// Compares two specs in a few calls in a row: which is in force, the defender, and a challenger. The
/// challenger wins only if it is faster beyond doubt, unless it is favoured, as `native` is: then the
/// defender stays only if it seems as fast. Its decisions depend only on the sequence of calls and on times
/// that all ranks have agreed on.
///
/// Each stage is a fixed sequence of turns, after which the ranks agree on their times. A turn is one call in
/// the first stage, and then two in a row, of which the faster one counts. In a rematch it is four, and the
/// mean of the last three counts: some algorithms are slow in every third call. A challenger that is plainly
/// slower, or plainly faster even when it is called for the first time, is known after the first stage, in
/// which each side is called twice; of long calls, once.
class Duel {
 public:
  enum class Side : std::uint8_t { defender, challenger };
  enum class Verdict : std::uint8_t { open, defender, challenger };

  /// The most times that the ranks agree on at once.
  static constexpr std::size_t most_times = 4;
  using Times = std::array<double, most_times>;

  /// A rematch checks what was decided.
  enum class Kind : std::uint8_t { first, rematch };

  /// Calls of so many seconds are long: what the first one sets up is little beside them, and so is what the
  /// call before has left behind.
  static constexpr double long_seconds = 0.02;

  /// `are_long`: the calls are, as far as all ranks know. `first` makes the first call.
  explicit Duel(bool is_challenger_favoured, bool are_long = false, Side first = Side::defender,
                Kind kind = Kind::first)
      : is_challenger_favoured_(is_challenger_favoured), are_long_(are_long), first_(first), kind_(kind) {}

  [[nodiscard]] bool is_rematch() const { return kind_ == Kind::rematch; }
  /// The side of the next call. Call count() afterwards.
  [[nodiscard]] Side next() const;
  void count(double seconds);
  /// Whether the ranks must agree before the next call: the calls of a stage have ended.
  [[nodiscard]] bool wants_agreement() const;
  /// This rank's times of the stage, by turn.
  [[nodiscard]] const Times& times() const { return times_; }
  Verdict agree(const Times& maxima);
  /// The median time of the challenger, as a multiple of the defender's; 0 if there are no times.
  [[nodiscard]] double ratio() const;
  /// The median time of a side; 0 if it has none.
  [[nodiscard]] double time_of(Side side) const;
  /// The seconds by which the challenger's calls so far were slower than as many of the defender's, by their
  /// medians: what its first call sets up is not counted, nor are ranks that come late.
  [[nodiscard]] double lost() const;
  /// The same after another stage, if the challenger goes on like its best call.
  [[nodiscard]] double lost_after_next_stage() const;

 private:
  Verdict judge() const;
  [[nodiscard]] Verdict judge_long_pair() const;
  [[nodiscard]] bool must_be_faster_at_once() const;
  [[nodiscard]] Side side_of(std::size_t turn) const;

  bool is_challenger_favoured_;
  bool are_long_;
  Side first_;
  Kind kind_;
  std::size_t stage_ = 0;
  std::size_t turn_ = 0;  // of the stage
  std::size_t call_ = 0;  // of the turn
  std::size_t calls_of_turn_ = 1;
  std::size_t calls_of_times_ = 1;  // the turns in of_defender_ and of_challenger_ were of so many
  std::array<double, 4> turn_times_{};
  Times times_{};
  std::vector<double> of_defender_;
  std::vector<double> of_challenger_;
  // The first call of each, which does not count.
  double first_of_defender_ = 0;
  double first_of_challenger_ = 0;
  double lost_before_ = 0;  // by the first call, and in turns that are no longer kept
};

}  // namespace stretto
