// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "interpose/handles/held_handles.hpp"
#include "interpose/operations/operation.hpp"

namespace stretto {

/// Until the ranks have agreed on tags for a call, which is told of meanwhile. False if there are none: the
/// communicator is left to the library from now on, by all ranks in the same call.
bool wait_for_channel(Communicator& state, const std::shared_ptr<Channel>& channel, const CallTraits& traits,
                      const Spec& spec);

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
struct OperationWithMessage {
  template <typename MakeMessage>
  OperationWithMessage(const MakeMessage& make_message, const ProgramHandles& handles,
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

}  // namespace stretto
