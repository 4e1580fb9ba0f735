// SPDX-License-Identifier: Apache-2.0
// STRETTO_ONLINE: learns from the calls of a job which spec is fastest for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "select/spec.hpp"

namespace stretto {

/// A spec that may be faster than the standing choice.
struct Candidate {
  Spec spec;
  /// The most that a first trial is expected to lose, as a multiple of a call's time. Even a trial that
  /// loses twice as much stays within the promised limit.
  double risk = 5;
};

/// Learns from calls of one kind, on one communicator. Its decisions depend only on the sequence of calls
/// and on figures that all ranks have agreed on, so they are the same on all ranks.
///
/// A trial stands between two calls by the incumbent with as many bytes, and is compared with these: slow
/// changes, and anything that disturbs all three calls, cancel out. Trials are rationed: their losses, the
/// cost of agreements and the expected loss of the next trial stay below 0.8 % of the time of all calls. The
/// real loss may be higher, since trials may be slower than they seem; the promised limit is 2 %.
class Learner {
 public:
  /// The measurements of one rank since the last agreement. The ranks agree on the maxima: the time of a
  /// call is that of the slowest rank.
  using Figures = std::array<double, 6>;

  struct Outcome {
    Spec spec;
    double gain = 0;     // times faster than `native`; 0: not known
    double seconds = 0;  // of the calls from which it was learned
  };

  /// `standing` is the choice without online learning. Times are in seconds since any instant.
  Learner(const Spec& standing, const std::vector<Candidate>& candidates, double now);

  /// Whether the ranks must agree before the next call.
  [[nodiscard]] bool wants_agreement() const;
  [[nodiscard]] Figures figures(double now) const;
  /// `seconds` is the time of the agreement on this rank.
  void agree(const Figures& maxima, double seconds);

  /// The spec of the next call; nullptr for the standing choice. Call end() afterwards, with the call's time
  /// on this rank.
  const Spec* begin(std::size_t bytes);
  void end(double seconds);

  /// Whether learning is over, so that no figures are needed any more.
  [[nodiscard]] bool is_settled() const { return is_settled_; }
  /// The spec that was adopted in place of the standing choice.
  [[nodiscard]] std::optional<Outcome> outcome() const;

  /// The share of the time of all calls that may be lost.
  static constexpr double share = 0.008;
  /// At most one of this many calls is a trial.
  static constexpr std::uint64_t spacing = 8;
  /// All trials end after this many seconds.
  static constexpr double longest = 600;

 private:
  enum class Role : std::uint8_t { none, before, trial, after };

  struct Arm {
    Spec spec;
    double risk = 0;
    int trials = 0;
    double lost = 0;
    std::vector<double> ratios;  // of a trial's time to that of the calls around it; without the first trial
    bool was_incumbent = false;
  };

  enum class Verdict : std::uint8_t { open, better, no_better };

  [[nodiscard]] bool is_native(std::size_t arm) const { return arms_[arm].spec.is_pass_through(); }
  Verdict judge(double reference, double trial);
  void adopt(std::size_t arm);
  void drop();
  void plan();

  std::vector<Arm> arms_;            // the first is the standing choice
  std::deque<std::size_t> waiting_;  // to be tried; the first one is under trial
  std::size_t incumbent_ = 0;
  double gain_ = 0;
  bool is_settled_ = false;

  std::uint64_t calls_ = 0;
  std::uint64_t next_agreement_;  // at this number of calls; 0: after the pair
  std::uint64_t pair_at_ = 0;     // number of the call from which on a trial is allowed; 0: not yet
  std::uint64_t pair_began_ = 0;
  std::size_t pair_bytes_ = 0;
  Role last_ = Role::none;     // the last call of the pair
  Role current_ = Role::none;  // of the current call

  double agreed_ = 0;          // seconds of all calls
  double lost_ = 0;            // by trials
  double call_ = 0;            // seconds of a recent call
  double recent_seconds_ = 0;  // seconds of the calls since then
  std::uint64_t recent_since_ = 0;
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
