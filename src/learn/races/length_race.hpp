// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "learn/races/policies.hpp"
#include "learn/races/race.hpp"
#include "select/spec.hpp"

namespace stretto {

/// A race between `native` and a spec for calls whose lengths only pairs of ranks know, such as
/// MPI_Alltoallv. No rank knows the length of a call when it begins, so the choice cannot depend on it. But
/// ranks can agree on the lengths of the calls before. By these the caller proposes a spec before each trial.
class LengthRace {
 public:
  /// The number of calls by whose lengths a spec is proposed: the last ones before a trial.
  static constexpr std::size_t looks = 8;

  /// The spec of the next call.
  [[nodiscard]] const Spec& next() const { return race_.next() == Race::Side::challenger ? spec_ : native_; }
  /// Whether nothing needs to be known about the next call. If so, call pass() for it, else count() after it.
  [[nodiscard]] bool is_quiet() const { return race_.quiet() > looks; }
  void pass() { race_.pass(); }
  /// Counts a call. `bytes`: those that this rank sent and received.
  void count(double bytes, double seconds);

  /// Whether the ranks must agree on the greatest figures before the next call.
  [[nodiscard]] bool wants_agreement() const;
  [[nodiscard]] std::vector<double> figures() const;
  void agree(std::span<const double> agreed);

  /// Whether a spec must be proposed before the next call.
  [[nodiscard]] bool wants_spec() const { return usual_bytes_ >= 0; }
  /// The bytes of the usual call, on the rank that moved most.
  [[nodiscard]] double usual_bytes() const { return usual_bytes_; }
  /// Proposes the challenger of the next trial. `native` means that nothing is known to be faster for such
  /// calls.
  void propose(Spec spec);

 private:
  Race race_{policies::private_lengths, policies::rest_of_private_lengths, looks};
  Spec native_;
  Spec spec_;                   // of the challenger
  std::vector<double> looked_;  // bytes of the calls before a trial, until the ranks have agreed on them
  double usual_bytes_ = -1;     // less than 0: no spec must be proposed
};

}  // namespace stretto
