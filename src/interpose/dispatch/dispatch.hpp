// SPDX-License-Identifier: Apache-2.0
// The steps that all collectives have in common, from the program's call to the engine.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "interpose/check/comparison.hpp"
#include "interpose/dispatch/background.hpp"
#include "interpose/dispatch/choice.hpp"
#include "interpose/dispatch/direct.hpp"
#include "interpose/dispatch/online.hpp"
#include "interpose/dispatch/program_call.hpp"
#include "interpose/operations/run_operation.hpp"
#include "interpose/session/session.hpp"

namespace stretto {

/// Makes the communicator ready for a call by `spec`. Waits for other ranks if the call may wait. Returns
/// false, on all ranks alike, if something that the call needs is not available.
bool prepare(Communicator& state, const CallTraits& traits, const Spec& spec, Form form);

/// Whether the MPI library handles a call because its communicator is young (Communicator::is_young). Counts
/// the call.
bool is_too_young(Communicator& state, const CallTraits& traits, const ProgramCall& program_call);

/// Carries a call out by `program_call.forced`, or by the choice if that is empty. If the result is empty,
/// the MPI library must carry the call out, by its own function with unchanged arguments. make_message()
/// returns a CallBuffers, or throws.
template <typename MakeMessage>
std::optional<int> dispatch(ProgramCall& program_call, const CallTraits& traits,
                            const ProgramHandles& handles, std::shared_ptr<Communicator> state,
                            const MakeMessage& make_message) {
  const MPI_Comm comm = program_call.comm;
  note_live_bytes(has_private_lengths(traits.collective) ? program_call.private_bytes : traits.bytes);
  if (state->is_young() && is_too_young(*state, traits, program_call)) {
    if (session.counts_calls()) program_call.library_call = {traits, state, state->next_sequence()};
    return std::nullopt;
  }
  Choice choice;
  if (!state->native_only() && !is_out_of_reach(traits, program_call.form, program_call.forced))
    choice = decide(*state, traits, program_call.form, program_call.forced);
  if (choice.source == Source::none) return report(comm, mpi.err_other);
  Spec& spec = choice.spec;
  std::shared_ptr<Operation> after;
  if (session.settings.check && !state->native_only()) {
    const PrivateLengths lengths = lengths_of(traits, state->rank(), make_message);
    after = compare(state, traits, lengths, spec, program_call.form);
  }
  std::shared_ptr<LearningCall> learning = try_learning(state, traits, program_call, comm, choice);
  RaceTurn turn;
  if (program_call.form != Form::blocking && !state->native_only())
    turn = take_turn(state, traits, program_call.form, choice);
  if (!prepare(*state, traits, spec, program_call.form)) spec = {};
  if (spec.is_pass_through()) {
    program_call.learning = std::move(learning);
    // Summaries do not count short calls that the library carries out.
    if (session.observes_all_calls() || (session.counts_calls() && !is_short(*state, traits))) {
      program_call.library_call = {traits, state, state->next_sequence(),
                                   may_be_tuned(*state, traits, program_call.form, choice)};
    }
    return std::nullopt;
  }
  try {
    if (program_call.form == Form::blocking) {
      auto message = make_message();
      if (may_be_direct(*state)) {
        if (const auto result = try_direct(*state, traits, spec, message, program_call.key)) return result;
      }
      Operation operation(std::move(state), traits, std::move(spec), program_call.form, message);
      return run(operation);
    }
    using Own = OperationWithMessage<decltype(make_message())>;
    // The library's own calls must be started in the order of calls.
    if (spec.is_native()) after = nullptr;
    auto own = std::make_shared<Own>(make_message, handles, std::move(state), traits, std::move(spec),
                                     program_call.form, std::move(turn.open));
    own->operation.begin_after(std::move(after));
    if (turn.race) own->operation.measure_for(std::move(turn.race), turn.slot);
    hand_over({own, &own->operation}, program_call.form, program_call.request);
    return MPI_SUCCESS;
  } catch (const std::exception&) {
    return report_exception(comm);
  }
}

}  // namespace stretto
