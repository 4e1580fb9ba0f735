// SPDX-License-Identifier: Apache-2.0
// Which spec carries out a call.
#pragma once

#include <optional>
#include <string>

#include "interpose/communicators/communicator.hpp"
#include "interpose/dispatch/program_call.hpp"
#include "select/spec.hpp"

namespace stretto {

/// Returns the spec for a call on this communicator: the forced one, or else what the tuning table says,
/// or else the rule. A spec that does not fit is replaced by one that does, on all ranks alike; in strict
/// mode nothing is returned for a forced one.
std::optional<Spec> choose_spec(const Communicator& state, const CallTraits& traits, Form form,
                                const std::optional<Spec>& forced);

/// Whether that choice is a row of the tuning table: it was the fastest when it was measured.
bool is_tuned(const Communicator& state, const CallTraits& traits, Form form);

/// Returns the same as text; `native(NAME)` if the table means the library's own algorithm of that name.
std::string choice_text(const Communicator& state, const CallTraits& traits, Form form);

/// Returns why a spec cannot serve a call; empty if it can.
std::string find_misfit(const Spec& spec, const CallTraits& traits, const Topology& topology);

/// Returns the spec for a call of this form. Native without segments: the library's own function carries
/// it out.
std::optional<Spec> choose_for_form(const Communicator& state, const CallTraits& traits,
                                    const ProgramCall& asked);

}  // namespace stretto
