// SPDX-License-Identifier: Apache-2.0
// STRETTO_ONLINE: which way is the best for the calls that a job makes, found out by these very calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "select/spec.hpp"

namespace stretto {

/// A way that may be better than the standing choice.
struct Candidate {
  Spec spec;
  /// What a first trial is expected to lose at most, as a multiple of a call's time. If it loses twice as
  /// much, the loss still stays within what is promised.
  double risk = 5;
};

/// Learns from calls of one kind, of one communicator. What it decides follows from the sequence of calls and
/// from figures that all ranks have agreed on, so it decides the same on all ranks.
///
/// A trial stands between two calls by the incumbent of as many bytes, and is compared with these: what
/// changes slowly, or disturbs all three, cancels out. Trials are rationed: what they lost, with what it took
/// to agree, and what the next one is feared to lose, stays under 0.8 % of the time of all calls. In truth it
/// may be more, by trials that were slower than they seemed; 2 % is what is promised.
class Learner {
 public:
  /// What one rank has measured since the last agreement, so that the maxima over the ranks are meant: the
  /// time of a call is the slowest rank's.
  using Figures = std::array<double, 6>;

  struct Outcome {
    Spec spec;
    double gain = 0;     // times faster than `native`; 0: not known
    double seconds = 0;  // of all calls, by which it was learned
  };

  /// `standing` is what is done without it. Time is in seconds since any instant.
  Learner(const Spec& standing, const std::vector<Candidate>& candidates, double now);

  /// Before a call: whether the ranks must agree first.
  [[nodiscard]] bool wants_agreement() const;
  [[nodiscard]] Figures figures(double now) const;
  /// `seconds` is what it took on this rank.
  void agree(const Figures& maxima, double seconds);

  /// How the next call is carried out; nullptr: by the standing choice. To be followed by end(), with the
  /// call's time on this rank.
  const Spec* begin(std::size_t bytes);
  void end(double seconds);

  /// Nothing is left to be found out, and figures are not needed any more.
  [[nodiscard]] bool is_settled() const { return is_settled_; }
  /// What was adopted in place of the standing choice.
  [[nodiscard]] std::optional<Outcome> outcome() const;

  /// Of the time of all calls, what may be lost.
  static constexpr double share = 0.008;
  /// At most one of so many calls is a trial.
  static constexpr std::uint64_t spacing = 8;
  /// Seconds after which all trials end.
  static constexpr double longest = 600;

 private:
  enum class Role : std::uint8_t { none, before, trial, after };

  struct Arm {
    Spec spec;
    double risk = 0;
    int trials = 0;
    double lost = 0;
    std::vector<double> ratios;  // of a trial's time to that of the calls around it, but for the first trial
    bool was_incumbent = false;
  };

  enum class Verdict : std::uint8_t { open, better, no_better };

  [[nodiscard]] bool is_native(std::size_t arm) const { return arms_[arm].spec.is_pass_through(); }
  Verdict judge(double reference, double trial);
  void adopt(std::size_t arm);
  void drop();
  void plan();

  std::vector<Arm> arms_;            // the first is the standing choice
  std::deque<std::size_t> waiting_;  // to be tried; the first one is
  std::size_t incumbent_ = 0;
  double gain_ = 0;
  bool is_settled_ = false;

  std::uint64_t calls_ = 0;
  std::uint64_t next_agreement_;  // the number of calls after which it is; 0: after the pair
  std::uint64_t pair_at_ = 0;     // the number of the call from which on there may be a trial; 0: not yet
  std::uint64_t pair_began_ = 0;
  std::size_t pair_bytes_ = 0;
  Role last_ = Role::none;     // what the pair has
  Role current_ = Role::none;  // of the call that is under way

  double agreed_ = 0;   // seconds of all calls
  double lost_ = 0;     // of these
  double call_ = 0;     // seconds of a call, of late
  double of_late_ = 0;  // seconds of the calls since that was known
  std::uint64_t call_known_at_ = 0;
  double agreement_ = 0;  // seconds of an agreement
  double agreements_lost_ = 0;
  std::uint64_t agreements_ = 0;
  double elapsed_ = 0;

  // Of this rank, since the last agreement.
  double began_;
  double sum_ = 0;
  std::array<double, 3> pair_{};
  double own_agreement_ = 0;
};

}  // namespace stretto
