// SPDX-License-Identifier: Apache-2.0
// Learns from the calls of a job which spec is fastest for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "learn/races/late_rank.hpp"
#include "learn/races/ledger.hpp"
#include "learn/races/policies.hpp"
#include "learn/races/trial.hpp"
#include "learn/races/watch.hpp"
#include "select/claims.hpp"
#include "select/spec.hpp"

namespace stretto {

/// Learns from calls of one kind, on one communicator. Its decisions depend only on the sequence of calls
/// and on figures that all ranks have agreed on, so they are the same on all ranks.
///
/// If the standing choice is not `native`, a duel comes first: in the first dozen calls the choice must show
/// that it is faster than `native`. There is no such duel if that is known, or if the first call takes little
/// more than the network allows (promise()). Each other candidate that may be faster then challenges the
/// winner, as soon as the ration below allows it. A few calls may mislead, if another program disturbed them,
/// so the duel is repeated: soon, and then more and more seldom.
///
/// In a duel both sides take turns, but afterwards all calls are by the winner, and these may take another
/// time: in the duel, a link that saved up bytes during the loser's calls passed them at once. So the
/// winner's next calls are measured. If they take longer than the loser took, the loser makes the same number
/// of calls in a row, and the faster side stays. If they differ by more than links can have saved up, the
/// duel's first turns are repeated before that: if these take another time, too, the network has changed.
///
/// Duels are rationed: the losses and agreements of all duels but the first stay below 1 % of the time of all
/// calls, or of the first 200; a part of what was won may be spent on them as well. The first duel, and duels
/// that cost more than expected, bring that to 2 %.
///
/// If one rank comes late again and again, a spec that reduces before it comes may challenge (take_late()).
/// That spec is in force only as long as the rank comes late, and it is not kept for other jobs.
///
/// The ranks compare notes from time to time. If calls take much longer or shorter than before, the network
/// has changed, and everything is found out anew.
class Learner {
 public:
  struct Outcome {
    Spec spec;
    double gain = 0;             // times faster than `native`; 0: not known
    double call_seconds = 0;     // of one call; 0: not known
    std::size_t call_bytes = 0;  // of that call
  };

  /// The knowledge about the standing choice.
  enum class Standing : std::uint8_t {
    presumed,  // it must show that it is faster than `native` before it is used
    modelled,  // likewise, but it makes the first call: a model of this network says that it is fast
    proven,    // it was measured on this cluster: it is used unless `native` shows that it is faster
    decided,   // a job on this network found it: it is used while the network is the same
  };

  /// `standing` is the choice without learning.
  Learner(const Spec& standing, Standing known, const std::vector<Candidate>& candidates);

  /// Only for a standing choice that is `decided`: a call of this length took this time in the earlier job.
  /// If the first two calls take many times as long, the choice is dropped (take_broken_word()).
  void expect(double seconds, std::size_t bytes);

  /// Only for a standing choice that is `modelled`: no spec can make a call of this length in less than
  /// `least` seconds. If calls of some milliseconds come near to that, the comparison with `native` waits
  /// until its cost is earned: little could be gained, and nobody knows how much could be lost.
  void promise(double least, std::size_t bytes);

  /// Only for a standing choice that is `modelled`: `native` should take this multiple of its time, as in
  /// similar calls. If that is much, the comparison with `native` waits until its cost is earned.
  void expect_native(double times);

  /// A call may take this much less time than one in a row, because of the bytes that idle links have saved
  /// up. If this is not called, duels set no limit to that.
  void expect_saved(double seconds) {
    saved_seconds_ = seconds;
    expect_saved_in_row(seconds);
  }
  /// The same for calls in a row only, which are compared with those of an earlier job.
  void expect_saved_in_row(double seconds) { watch_.expect_saved(seconds); }

  /// Sets the number of this rank, for take_late().
  void know_rank(int rank) { rank_ = rank; }

  /// Whether the ranks must agree before the next call.
  [[nodiscard]] bool wants_agreement() const;
  /// Returns the measurements of this rank since the last agreement.
  [[nodiscard]] std::vector<double> figures() const;
  /// Takes the greatest figures of all ranks, because the time of a call is that of the slowest rank.
  /// `seconds` is the time of the agreement on this rank.
  void agree(std::span<const double> agreed, double seconds);

  /// Returns the spec of the next call; nullptr for the standing choice. Call end() afterwards, with the
  /// call's time on this rank.
  const Spec* begin(std::size_t bytes);
  /// Whether the time of the call that has begun is needed. If not, end() need not be called.
  [[nodiscard]] bool wants_time() const;
  void end(double seconds);

  /// Whether nothing is left to find out or to watch, so that no figures are needed any more.
  [[nodiscard]] bool is_settled() const { return is<Settled>(); }
  /// The spec of calls that try nothing.
  [[nodiscard]] const Spec& in_force() const { return arms_[incumbent_].spec; }
  /// What is in force, once it has been measured; nothing before.
  [[nodiscard]] std::optional<Outcome> outcome() const;
  /// Returns the outcome, once after each decision.
  std::optional<Outcome> take_news();
  /// Returns whether calls take so much more or less time than before that the network must have changed;
  /// says so once. What was found out no longer holds then: another learner takes over.
  bool take_change();
  /// Returns whether the standing choice takes many times as long as it did in the earlier job; says so once.
  /// Another learner takes over, which must not go by that job.
  bool take_broken_word();
  /// Returns a rank that comes late to these calls; once for each such rank.
  std::optional<LateRank::Found> take_late();
  /// Lets a spec for the late rank that was taken last challenge the spec in force. `expected`: its time as a
  /// multiple of the other's.
  void challenge_for_late(const Spec& spec, double expected);
  /// Adds the losses of another learner of the same calls, so that both together keep to the limits.
  void take_over_losses(const Learner& other);

  /// The ranks compare notes after this many calls, or after more if that would take too much of their time.
  static constexpr std::uint64_t least_watch = 16;
  /// A duel is repeated after this many calls, and then after twice as many each time.
  static constexpr std::uint64_t first_rematch = 32;

 private:
  struct Arm {
    Spec spec;
    double expected = 0;    // by the model, as a multiple of the first one's
    double slower = 0;      // its time in its last duel as a multiple of `native`'s; 0: not known
    double in_a_row = 0;    // seconds of a call when all calls were by it; 0: not known
    std::size_t bytes = 0;  // of that call
    double in_duel = 0;     // seconds of a call in its last duel; 0: not known
  };

  // The phases. A learner is in one of them, and each has only what it needs.

  /// The first call is made on trust: no spec can take fewer seconds per byte (promise()).
  struct Trusting {
    double least_per_byte;
  };

  /// One of the first two calls is to take the seconds per byte of an earlier job (expect()).
  struct Believing {
    double per_byte;
  };

  /// A trial between the incumbent and a challenger.
  struct Duel {
    Trial trial;
    std::size_t challenger;
    bool is_rematch;
    std::uint64_t last_call;  // number of the last call that was part of it
    std::size_t bytes = 0;    // of its calls; 0: those of the next call
    bool has_this_call = false;
    bool checks_network = false;  // its first turns show whether the last duel's times still hold
  };

  /// Calls in a row by the incumbent are looked at from time to time.
  struct Watching {
    bool must_look;  // before another duel
  };

  /// The last duels, until calls in a row have confirmed their winner.
  struct Probation {
    std::size_t loser;           // the best one of these duels
    double of_loser;             // seconds of a call in its duel
    std::size_t bytes;           // of these calls
    bool was_surprised = false;  // a turn of another duel has brought the look at calls in a row forward
    bool was_checked = false;    // whether the network is as in the duel
  };

  /// The loser of the last duels makes calls in a row, in the winner's place.
  struct SecondLook {
    std::size_t loser;
    std::size_t bytes;
    double of_winner;             // seconds of a call in a row
    bool has_shown_once = false;  // the loser has shown once that it is faster
  };

  /// Nothing is left to find out or to watch.
  struct Settled {};

  using Phase = std::variant<Watching, Trusting, Believing, Duel, SecondLook, Settled>;

  /// The measurements of this rank since the last agreement.
  struct Tally {
    double seconds = 0;
    std::uint64_t timed = 0;  // calls
    std::uint64_t since = 0;  // number of calls at the last agreement
    double agreement = 0;     // seconds
  };

  /// What the learner tells its owner after an agreement, once.
  enum class News : std::uint8_t { none, decision, change, broken_word };

  template <typename Which>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<Which>(phase_);
  }
  [[nodiscard]] bool is_native(std::size_t arm) const { return arms_[arm].spec.is_pass_through(); }
  [[nodiscard]] std::size_t find_native() const;

  [[nodiscard]] bool are_long() const {
    return decided_.call_seconds >= policies::long_seconds || counts_as_long_;
  }
  [[nodiscard]] bool is_measured() const { return decided_.call_seconds > 0; }
  [[nodiscard]] bool take(News news);
  void settle_promise(double seconds);
  void begin_comparing(double seconds);
  void check_word(double seconds);
  bool agree_on_duel(std::span<const double> figures);
  using Side = Trial::Side;
  void challenge(std::size_t arm, Side first = Side::defender, bool is_rematch = false);
  void begin_due_duel();
  void plan_challenge();
  [[nodiscard]] double expected_seconds(std::size_t arm) const;
  [[nodiscard]] double native_seconds() const;
  [[nodiscard]] double left_to_lose() const { return ledger_.left_for_duels(native_seconds()); }
  void count_won();
  void plan_rematch(double ratio, std::size_t loser);
  [[nodiscard]] double lost_by_native() const;
  [[nodiscard]] std::size_t find_rival(std::size_t loser) const;
  void end_duel(bool challenger_won);
  void postpone_duel();
  bool is_surprised_by(double seconds, std::size_t bytes);
  bool begin_check(double seconds);
  void end_check();
  void conclude(std::size_t winner, std::size_t loser, double seconds, double ratio, std::size_t bytes);
  [[nodiscard]] bool is_for_late(std::size_t arm) const { return for_late_ && arm == for_late_->arm; }
  [[nodiscard]] bool is_news(std::size_t winner) const;
  void put_on_probation(std::size_t loser, double of_loser, std::size_t bytes);
  [[nodiscard]] std::size_t best_in_a_row(std::size_t bytes) const;
  [[nodiscard]] bool is_unlike_duel(std::size_t arm, double seconds) const;
  void look_at_winner(const Recent& recent);
  void look_at_loser(const Recent& recent);
  void keep(double seconds, std::size_t bytes);
  std::size_t begin_duel_call(std::size_t bytes);

  [[nodiscard]] std::uint64_t calls_between_watches() const;
  void watch(const Recent& recent);
  void look_for_late(std::span<const double> agreed);
  void begin_watch();

  std::vector<Arm> arms_;  // the first is the standing choice
  std::size_t incumbent_ = 0;
  Outcome decided_;  // the incumbent's outcome, as measured last
  Phase phase_;
  News news_ = News::none;
  std::optional<Probation> probation_;
  bool counts_as_long_ = false;  // as the first call on trust has shown

  std::vector<std::size_t> challengers_;  // the next ones
  std::uint64_t challenge_at_ = 0;        // from this call on the next one may be allowed; 0: none
  double model_scale_ = 0;                // seconds of a call here that takes 1 by the model
  struct Rematch {
    std::size_t rival;
    std::uint64_t at;  // number of the call
  };
  std::optional<Rematch> rematch_;
  std::uint64_t rematch_after_ = first_rematch;  // calls

  double saved_seconds_ = std::numeric_limits<double>::infinity();
  std::optional<double> native_expected_;  // times as long as the standing choice, by similar calls

  std::uint64_t calls_ = 0;
  Ledger ledger_;
  std::uint64_t won_until_ = 0;  // what was won is counted up to this number of calls
  Watch watch_;
  std::uint64_t next_watch_ = least_watch;  // number of the call

  /// A spec for a late rank, and the spec that was in force before.
  struct ForLate {
    std::size_t arm;
    int rank;
    std::size_t before = 0;
    Outcome decided = {};
  };
  int rank_ = 0;
  LateRank late_;
  int told_late_ = -1;
  std::optional<ForLate> for_late_;

  Tally tally_;
  std::uint64_t all_timed_ = 0;  // calls of this rank
  std::size_t current_bytes_ = 0;
};

}  // namespace stretto
