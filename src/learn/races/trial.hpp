// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace stretto {

/// A part of a trial. It says which side makes which call, and what the times of these calls decide.
struct Stage {
  /// A letter for each turn: `d` is the defender's, `c` the challenger's. The time of a turn with a capital
  /// letter is no measure: its calls make schedules, buffers and connections, or meet ranks that the other
  /// side has left late.
  std::string_view turns;

  enum class Counts : std::uint8_t {
    least,   // the fastest call of a turn: the first one also waits for ranks that are late
    others,  // the mean of all but the first: some algorithms are slow in every third call
    sum,     // all calls: each is too short for the clock
  };
  int calls = 1;  // in a row, of a turn
  Counts counts = Counts::least;
  /// Whether calls have several lengths, so that only those of the same magnitude are compared.
  bool by_bytes = false;

  static constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// The challenger wins if it takes less than this multiple of the defender's time (0: it cannot win yet),
  double wins_below = 0;
  /// if a call takes at least this many seconds,
  double wins_from = 0;
  /// and if it is the slower one in at most this many of all pairs of turns (Mann-Whitney).
  std::size_t most_lost = any;
  /// The same limit if it is plainly faster, so that one of its turns may be late. 0: as above.
  std::size_t most_lost_if_plain = 0;
  /// It loses if it takes more than this multiple, and its best turn, too. In the last stage it loses unless
  /// it wins.
  double loses_above = never;
  /// The same limit for calls of less than `short_below` seconds, of which a single one says little. 0: as
  /// above.
  double loses_above_if_short = 0;
  double short_below = 0.0005;

  [[nodiscard]] std::size_t may_lose(bool is_plain) const {
    return is_plain && most_lost_if_plain > 0 ? most_lost_if_plain : most_lost;
  }
};

/// Compares two ways to carry out calls: the defender, which is in force, and a challenger. It uses the calls
/// that the program makes anyway. Races and duels differ in their stages (policies.hpp), in who agrees on the
/// times and when, and in what follows from the verdict.
///
/// Its decisions depend only on the number of calls and on the times that are given to agree(). If these are
/// the same on all ranks, so are the decisions.
class Trial {
 public:
  enum class Side : std::uint8_t { defender, challenger };
  enum class Verdict : std::uint8_t { open, defender, challenger };

  /// A turn whose time was agreed on.
  struct Turn {
    int magnitude;  // of the bytes
    double seconds;
    bool is_measure;
  };
  using Turns = std::vector<Turn>;

  /// `first` makes the first call. If it is the challenger, the sides of the first stage are exchanged.
  explicit Trial(std::span<const Stage> stages, Side first = Side::defender);

  [[nodiscard]] const Stage& stage() const { return stages_[stage_]; }
  /// The side of the next call. Call count() afterwards.
  [[nodiscard]] Side next() const { return side_of(turn_); }
  /// The side of a turn of the stage. After the last one, until the ranks have agreed, it is the defender's.
  [[nodiscard]] Side side_of(std::size_t turn) const;
  /// Counts a call. `bytes` matter only if the stage compares by them.
  void count(double seconds, double bytes = 0);

  /// Whether all calls of the stage have been made, so that times must be agreed on before the next call.
  [[nodiscard]] bool wants_agreement() const { return turn_ == stage().turns.size(); }
  /// Returns this rank's measurements in the stage: the seconds of each turn, followed by the bytes of each
  /// turn if the stage compares by them.
  [[nodiscard]] std::vector<double> figures() const;
  /// Judges by `agreed`: the greatest figures of all ranks, or this rank's own if others need not decide
  /// alike.
  Verdict agree(std::span<const double> agreed);

  /// The time of the challenger as a multiple of the defender's; 0: not known.
  [[nodiscard]] double ratio() const;
  /// The median time of a side's turns; 0: not known.
  [[nodiscard]] double time_of(Side side) const;
  /// The seconds by which the challenger's calls were slower than the same number of the defender's. The time
  /// for setting things up in the first call is not counted, nor is that of ranks that come late.
  [[nodiscard]] double lost() const;
  /// The seconds lost after another stage, if the sides go on like their best turns, or as usual if that is
  /// less.
  [[nodiscard]] double lost_after_next_stage() const;
  /// The cost of the loser's calls, in calls by the other side.
  [[nodiscard]] double calls_lost(Side loser) const;

 private:
  struct Calls {
    Turns turns;
    double number = 0;  // of calls, in these turns
  };
  using Statistic = double (*)(const Turns&);

  [[nodiscard]] bool is_last() const { return stage_ + 1 == stages_.size(); }
  [[nodiscard]] const Calls& of(Side side) const { return sides_[static_cast<std::size_t>(side)]; }
  [[nodiscard]] double compare(Statistic of_defender, Statistic of_challenger) const;
  [[nodiscard]] std::size_t lost_pairs() const;
  [[nodiscard]] Verdict judge() const;
  void forget_other_turns();
  void begin_next_stage();

  std::span<const Stage> stages_;
  Side first_;
  std::size_t stage_ = 0;
  std::size_t turn_ = 0;  // of the stage
  int call_ = 0;          // of the turn
  // This rank's measurements, by turn of the stage.
  std::vector<double> seconds_;
  std::vector<double> bytes_;
  // The turns that were agreed on in the last stages whose turns are alike.
  std::array<Calls, 2> sides_;
  std::size_t last_stage_ = 0;  // of these
  double lost_before_ = 0;      // in turns of another kind
};

}  // namespace stretto
