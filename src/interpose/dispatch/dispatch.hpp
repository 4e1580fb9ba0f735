// SPDX-License-Identifier: Apache-2.0
// What all collectives have in common between the program's call and the engine.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "interpose/dispatch/comparison.hpp"
#include "interpose/dispatch/online.hpp"
#include "interpose/handles/held_handles.hpp"
#include "interpose/operations/operation.hpp"
#include "interpose/session/session.hpp"

namespace stretto {

/// The spec for a call on this communicator: the forced one, or else what the tuning table says, or else the
/// rule. What does not fit gives way to what is sound, on all ranks alike; in strict mode nothing is returned
/// for a forced one.
std::optional<Spec> choose_spec(const Communicator& state, const CallTraits& traits, Face face,
                                const std::optional<Spec>& forced);

/// The same as text; `native(NAME)` where the table means the library's own algorithm of that name.
std::string choice_text(const Communicator& state, const CallTraits& traits, Face face);

/// Why a spec cannot serve a call; empty if it can.
std::string find_misfit(const Spec& spec, const CallTraits& traits, const Topology& topology);

/// The same for a call of this form. Native without segments: the library's own function carries it out.
std::optional<Spec> choose_for_form(const Communicator& state, const CallTraits& traits, const Form& form);

/// Of a call by which something is learned, whose spec may become another; else nullptr.
std::shared_ptr<LearningCall> try_learning(const std::shared_ptr<Communicator>& state,
                                           const CallTraits& traits, const Form& form, MPI_Comm comm,
                                           Spec& spec);

/// Has all that a call by `spec` needs of the communicator, waiting for other ranks where the call may;
/// false: it cannot be had, on all ranks alike.
bool prepare(Communicator& state, const CallTraits& traits, const Spec& spec, Face face);

/// Until the ranks have agreed on tags for a call, which is told of meanwhile. False if there are none: the
/// communicator is left to the library from now on, by all ranks in the same call.
bool wait_for_channel(Communicator& state, const std::shared_ptr<Channel>& channel, const CallTraits& traits,
                      const Spec& spec);

/// Tells the handler of the program's communicator.
int report(MPI_Comm comm, int error);

/// Starts an operation, and waits until it has ended. Returns its error code, reported.
int run(Operation& operation);

/// Hands an operation that is not blocking over to the program: `request` becomes its request.
void hand_over(std::shared_ptr<Operation> operation, Face face, MPI_Request* request);

/// Handles that the program may free while the call is under way.
struct ProgramHandles {
  MPI_Datatype datatype{};
  MPI_Datatype other_datatype{};
  MPI_Op op{};  // unless it is predefined
};

/// An operation and what it works on, for as long as anybody knows it.
template <typename ItsMessage>
struct OwnOperation {
  template <typename MakeMessage>
  OwnOperation(const MakeMessage& make_message, const ProgramHandles& handles,
               std::shared_ptr<Communicator> state, const CallTraits& traits, Spec spec, Face face)
      : message(make_message()), operation(std::move(state), traits, std::move(spec), face, message) {
    held.hold_datatype(handles.datatype);
    held.hold_datatype(handles.other_datatype);
    held.hold_op(handles.op);
  }

  HeldHandles held;
  ItsMessage message;
  Operation operation;
};

/// Carries a call out by `form.forced`, or by the choice if that is empty. Empty result: the call is the
/// library's, whose own function must be called with the arguments as they are. make_message() gives a
/// Message, or throws.
template <typename MakeMessage>
std::optional<int> carry_out(Form& form, const CallTraits& traits, const ProgramHandles& handles,
                             MPI_Comm comm, std::shared_ptr<Communicator> state,
                             const MakeMessage& make_message) {
  std::optional<Spec> spec = choose_for_form(*state, traits, form);
  if (!spec) return report(comm, MPI_ERR_OTHER);
  std::shared_ptr<Operation> after;
  if (session.settings.check && !state->native_only()) after = compare(state, traits, *spec, form.face);
  std::shared_ptr<LearningCall> learning = try_learning(state, traits, form, comm, *spec);
  if (!prepare(*state, traits, *spec, form.face)) spec = Spec{};
  if (spec->is_pass_through()) {
    form.learning = std::move(learning);
    if (session.tells_of_all_calls() || session.counts_calls())
      form.told = {traits, state, state->next_sequence()};
    return std::nullopt;
  }
  try {
    if (form.face == Face::blocking) {
      auto message = make_message();
      Operation operation(std::move(state), traits, *std::move(spec), form.face, message);
      return run(operation);
    }
    using Own = OwnOperation<decltype(make_message())>;
    // The library's own calls must be started in the order of calls.
    if (spec->is_native()) after = nullptr;
    auto own =
        std::make_shared<Own>(make_message, handles, std::move(state), traits, *std::move(spec), form.face);
    own->operation.begin_after(std::move(after));
    hand_over({own, &own->operation}, form.face, form.request);
    return MPI_SUCCESS;
  } catch (const std::bad_alloc&) {
    return report(comm, MPI_ERR_NO_MEM);
  } catch (const std::exception& error) {
    complain(error.what());
    return report(comm, MPI_ERR_OTHER);
  }
}

}  // namespace stretto
