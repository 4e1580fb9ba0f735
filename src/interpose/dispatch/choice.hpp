// SPDX-License-Identifier: Apache-2.0
// Which spec carries out a call (docs/choice.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "interpose/communicators/communicator.hpp"
#include "interpose/session/call_traits.hpp"
#include "select/form.hpp"
#include "select/spec.hpp"

namespace stretto {

/// Whose choice a spec is. What was learnt, and what a model expects, replaces that of a table or of the
/// rule: try_learning() in online.hpp.
enum class Source : std::uint8_t {
  library,  // only the MPI library can carry the call out
  forced,   // the user names it
  table,
  model,  // where no library can carry it out: elsewhere the model has a say in what is learnt
  rule,
  none,  // the forced spec does not fit, and the user asked for an error (STRETTO_STRICT)
};

struct Choice {
  Spec spec;
  Source source = Source::library;
  /// Of the table: the library's own algorithm that it means; empty if it names none.
  std::string algorithm_of_library = {};
};

/// Returns the choice for a call on this communicator, before anything is learnt: that of the first source
/// that has one. It is the same on all ranks. Native without segments: the library's own function carries the
/// call out.
Choice decide(const Communicator& state, const CallTraits& traits, Form form,
              const std::optional<Spec>& forced);

/// Whether nothing may advance a call in the background, so that only the library can carry it out. If a spec
/// is forced for it, says so, once.
bool is_out_of_reach(const CallTraits& traits, Form form, const std::optional<Spec>& forced);

/// Returns a choice as text; `native(NAME)` if the table means the library's own algorithm of that name.
std::string to_string(const Choice& choice);

/// Returns why a spec cannot serve a call; empty if it can.
std::string why_unsupported(const Spec& spec, const CallTraits& traits, const Topology& topology);

}  // namespace stretto
