// SPDX-License-Identifier: Apache-2.0
// Who decides how a call is carried out (docs/choice.md): the one place for jobs and for `stretto explain`.
// It needs neither MPI nor a job.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "select/rule.hpp"
#include "select/spec.hpp"
#include "select/table.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// Those that have specs are in the order in which they count.
enum class Source : std::uint8_t {
  library,  // only the MPI library can carry the call out
  forced,   // the user names it
  table,    // the user's tuning table
  learnt,   // duels or races decide, in this job or an earlier one
  model,    // the model of the network
  rule,
  none,  // the forced spec does not fit, and the user asked for an error (STRETTO_STRICT)
};

/// Returns the name: `forced`, `learnt`, `modelled` and so on.
std::string_view name_of(Source source);

/// How a job uses what it and earlier jobs find out about the network (STRETTO_ONLINE).
enum class Online : std::uint8_t {
  /// Choices must show that they are faster than the MPI default.
  guard,
  /// The findings of earlier jobs are used, and nothing is measured.
  freeze,
  off,
};

/// The settings by which findings count. They are the same on all ranks.
struct LearningSettings {
  Online online = Online::guard;
  bool reproducible = false;  // STRETTO_REPRODUCIBLE
  bool check = false;         // STRETTO_CHECK
};

/// Returns the setting, other than STRETTO_ONLINE, that keeps a job from using any finding; empty if none
/// does.
std::string_view why_nothing_is_learnt(const LearningSettings& settings);

/// A spec that a measurement or a model proposes for a kind of calls.
struct Finding {
  Spec spec;
  double seconds = 0;     // of a call of `bytes`; 0: not known
  std::size_t bytes = 0;  // of that call
};

/// Findings are for kinds of calls: a kind holds the lengths from a power of two to just below the next one.
/// Each finding must serve all of them.
constexpr std::size_t shortest_of_kind(std::size_t bytes) {
  return std::bit_floor(bytes);
}
constexpr std::size_t longest_of_kind(std::size_t bytes) {
  return bytes == 0 ? 0 : 2 * std::bit_floor(bytes) - 1;
}

/// A call, and what is known about it. All of it is the same on all ranks.
struct Question {
  CallShape call;
  const Topology& topology;
  int root = 0;
  bool has_unequal_blocks = false;
  bool has_library = true;  // whether the job has an MPI library
  /// Whether the library must not carry the call out, unless the user says so.
  bool must_avoid_library = false;
  LearningSettings learning = {};
  /// Nothing is learnt from shorter calls, unless the job has no library (Floors::comparison).
  std::size_t least_learnt = 0;
  const Spec* wanted = nullptr;            // what the user names
  const Table::Shape* table = nullptr;     // the rows of the tuning table for the topology
  const Finding* learnt = nullptr;         // the winner of a duel of an earlier job
  std::span<const Finding> modelled = {};  // the model's specs, the fastest first
  /// Whether STRETTO_REPRODUCIBLE applies.
  [[nodiscard]] bool is_reproducible() const {
    return learning.reproducible && is_reduction(call.collective);
  }
};

/// The claim of a source on a call.
struct Claim {
  Source source = Source::rule;
  std::optional<Spec> spec = {};  // nothing: it has none, or none that can carry the call out
  /// Why a spec of this source cannot carry the call out: "does not …" or "is not …". If the user has named
  /// that spec, `spec` is what is used instead.
  std::string refusal = {};
  std::string unused = {};                // why_unused(), by all_claims()
  std::string algorithm_of_library = {};  // the MPI library's own, that the table names
  double seconds = 0;                     // as in the finding
  std::size_t bytes = 0;
  const RuleRow* row = nullptr;  // of the rule; nullptr also if no row holds
};

/// Returns why a spec cannot carry out a call, as in Claim::refusal; empty if it can.
std::string why_unsupported(const Spec& spec, const Question& question);

/// Returns why findings of a source, learnt or model, do not count for a call; empty if they do.
std::string why_unused(Source source, const Question& question);

/// Returns the claim that decides: the first one with a spec, in the order of all_claims().
Claim decide(const Question& question);

/// Returns a claim of each source: what the user names, the table, what was learnt, the model (one for each
/// of its specs), the rule.
std::vector<Claim> all_claims(const Question& question);

/// A spec that may be faster than the choice.
struct Candidate {
  Spec spec;
  /// The time that the model expects, as a multiple of the choice's.
  double expected = 1;
};

/// Returns the specs with which a job compares that of the first claim that has one, apart from the MPI
/// default: that of the rule, and those of the next claims, unless one is expected to take much longer. None
/// if the user names the choice.
std::vector<Candidate> challengers_of(std::span<const Claim> claims, bool has_library);

/// Whether a job in which `claim` decides compares its spec in its first calls, and keeps the fastest one:
/// with the MPI default, or with other specs if there is no MPI library. `claims` are all claims on the call.
bool is_compared(const Claim& claim, std::span<const Claim> claims, const Question& question);

}  // namespace stretto
