// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/dispatch.hpp"

namespace stretto {

bool is_too_young(Communicator& state, const CallTraits& traits, const ProgramCall& program_call) {
  const bool reproducible = session.settings.reproducible && is_reduction(traits.collective);
  // A program that makes a persistent call will start it often.
  const bool is_wanted = program_call.form == Form::persistent || program_call.forced || reproducible ||
                         session.observes_all_calls() || session.must_avoid_library(program_call.form) ||
                         session.forced_for(traits.collective, traits.bytes);
  if (is_wanted) {
    state.come_of_age();
  } else if (has_private_lengths(traits.collective) ||
             traits.bytes >= session.native_floor(traits.collective, program_call.form)) {
    // (A shorter call may not get here on all ranks: with different datatypes, some pass it straight on.)
    state.count_young_call(traits.bytes);
  }
  return state.is_young();
}

bool prepare(Communicator& state, const CallTraits& traits, const Spec& spec, Form form) {
  if (state.native_only()) return false;
  // The channel's number names the communicator in a trace.
  if (!session.settings.trace_folder.empty()) state.channel();
  if (spec.is_native()) return true;
  if (form == Form::blocking) return wait_for_channel(state, state.channel(), traits, spec);
  // A refusal must be known on all ranks in the same call: from then on they use the library's own
  // collectives. Refusals are rare. If one is possible, either all ranks know that or there is none.
  if (form == Form::non_blocking) {
    return !state.channel()->may_be_refused() || wait_for_channel(state, state.channel(), traits, spec);
  }
  // Making a persistent collective may wait for other ranks (MPI 4.1, section 6.13).
  const std::size_t tags = Communicator::pipelining_of(spec).in_flight();
  return wait_for_channel(state, state.channel_with_fresh(tags), traits, spec);
}

}  // namespace stretto
