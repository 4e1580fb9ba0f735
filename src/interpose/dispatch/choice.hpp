// SPDX-License-Identifier: Apache-2.0
// Chooses the spec that carries out a call (docs/choice.md).
#pragma once

#include <optional>
#include <string>

#include "interpose/communicators/communicator.hpp"
#include "interpose/session/call_traits.hpp"
#include "select/claims.hpp"
#include "select/form.hpp"
#include "select/spec.hpp"

namespace stretto {

/// What carries out a call. In blocking calls, a learned spec, or one that a model expects to be faster,
/// replaces the choice of the table or of the rule: try_learning() in online.hpp.
struct Choice {
  Spec spec;
  Source source = Source::library;
  /// The MPI library's own algorithm that the table names; empty if it names none.
  std::string algorithm_of_library = {};
};

/// Returns the question who carries a call out, without what the user, tables and findings say.
Question question_of(const CallTraits& traits, const Topology& topology, Form form);

/// The question with what the communicator knows: its rows of the table and, without MPI, where a call may
/// not wait for findings, those of earlier jobs and of the model.
class KnownQuestion {
 public:
  KnownQuestion(const Communicator& state, const CallTraits& traits, Form form);
  KnownQuestion(const KnownQuestion&) = delete;
  KnownQuestion& operator=(const KnownQuestion&) = delete;

  Question question;

 private:
  std::optional<Finding> learnt_;
};

/// Returns the choice for a call on this communicator, before anything is learned. It comes from the first
/// source that has one, and is the same on all ranks. If it is native without segments, the library's own
/// function carries the call out.
Choice decide(const Communicator& state, const CallTraits& traits, Form form,
              const std::optional<Spec>& forced);

/// Whether nothing may advance a call in the background, so that only the library can carry it out. If a spec
/// is forced for the call, writes one line about that, once.
bool is_out_of_reach(const CallTraits& traits, Form form, const std::optional<Spec>& forced);

/// Whether `stretto tune` could find something for a call that the choice leaves to the library: nothing but
/// the rule has decided, and the rows of a table would apply to the call.
bool may_be_tuned(const Communicator& state, const CallTraits& traits, Form form, const Choice& choice);

/// Returns a choice as text; `native(NAME)` if the table means the library's own algorithm of that name.
std::string to_string(const Choice& choice);

/// Returns why a spec cannot serve a call; empty if it can.
std::string why_unsupported(const Spec& spec, const CallTraits& traits, const Topology& topology);

}  // namespace stretto
