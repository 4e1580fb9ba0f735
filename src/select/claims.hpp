// SPDX-License-Identifier: Apache-2.0
// Who decides how a call is carried out (docs/choice.md): the one place for jobs and for `stretto explain`.
// It needs neither MPI nor a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "select/rule.hpp"
#include "select/spec.hpp"
#include "select/table.hpp"
#include "topology/topology.hpp"

namespace stretto {

enum class Source : std::uint8_t {
  library,  // only the MPI library can carry the call out
  forced,   // the user names it
  table,    // the user's tuning table
  learnt,   // duels or races decide, in this job or an earlier one
  model,    // in a job without an MPI library; in other jobs, the model proposes specs to learn
  rule,
  none,  // the forced spec does not fit, and the user asked for an error (STRETTO_STRICT)
};

/// Returns the name: `forced`, `learnt`, `modelled` and so on.
std::string_view name_of(Source source);

/// A call, and what is known about it. All of it is the same on all ranks.
struct Question {
  CallShape call;
  const Topology& topology;
  int root = 0;
  bool has_unequal_blocks = false;
  bool has_library = true;  // whether the job has an MPI library
  /// Whether the library must not carry the call out, unless the user says so.
  bool must_avoid_library = false;
  /// Whether STRETTO_REPRODUCIBLE applies: it is set, and the call reduces.
  bool is_reproducible = false;
  const Spec* wanted = nullptr;            // what the user names
  const Table::Shape* table = nullptr;     // the rows of the tuning table for the topology
  const Spec* learnt = nullptr;            // the winner of a duel of an earlier job
  const Table::Shape* modelled = nullptr;  // rows made by the model of the network
};

/// The claim of a source on a call.
struct Claim {
  Source source = Source::rule;
  std::optional<Spec> spec = {};  // nothing: it has none, or none that can carry the call out
  /// Why a spec of this source cannot carry the call out: "does not …" or "is not …". If the user has named
  /// that spec, `spec` is what is used instead.
  std::string refusal = {};
  std::string algorithm_of_library = {};  // the MPI library's own, that the table names
};

/// Returns why a spec cannot carry out a call, as in Claim::refusal; empty if it can.
std::string why_unsupported(const Spec& spec, const Question& asked);

/// Returns the claim that decides: the first one with a spec, in the order of all_claims().
Claim decide(const Question& asked);

/// Returns the claims of all sources: what the user names, the table, what was learnt, the model, the rule.
std::vector<Claim> all_claims(const Question& asked);

}  // namespace stretto
