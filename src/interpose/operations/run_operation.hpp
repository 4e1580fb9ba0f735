// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "interpose/handles/held_handles.hpp"
#include "interpose/observe/live.hpp"
#include "interpose/operations/operation.hpp"
#include "interpose/session/session.hpp"
#include "mpi/places.hpp"
#include "threads/time_slice.hpp"

namespace stretto {

/// Waits until the ranks have agreed on tags for a call. The watchdog sees the call meanwhile. Returns false
/// if there are no tags: from this call on, the MPI library handles the communicator on all ranks.
bool wait_for_channel(Communicator& state, const std::shared_ptr<Channel>& channel, const CallTraits& traits,
                      const Spec& spec);

/// Calls the error handler of the program's communicator. Returns the error.
int report(MPI_Comm comm, int error);

/// Writes what failed (unless memory ran out), reports an error to the handler of `comm`, and returns that
/// error. To be called where an exception has been caught.
int report_exception(MPI_Comm comm);

/// Advances a call, and all outstanding ones, until the call has ended.
void wait_for(Outstanding& call);

/// Starts an operation and waits until it has ended. Returns its error code, already reported.
inline int run(Operation& operation) {
  mark_communication_thread(true);
  note_live_waiting();
  operation.start();
  wait_for(operation);
  return operation.report_error();
}

/// Hands a non-blocking or persistent operation over to the program: `request` becomes its request.
void hand_over(std::shared_ptr<Operation> operation, Form form, Place<MPI_Request> request);

/// Handles that the program may free while the call is in flight.
struct ProgramHandles {
  MPI_Datatype datatype{};
  MPI_Datatype other_datatype{};
  MPI_Op op{};  // null if it is predefined
  /// The datatypes of MPI_Alltoallw.
  std::span<const MPI_Datatype> more_datatypes = {};
};

/// An operation together with its message. Both live as long as anything refers to them.
template <typename ItsMessage>
struct OperationWithMessage {
  template <typename MakeMessage>
  OperationWithMessage(const MakeMessage& make_message, const ProgramHandles& handles,
                       std::shared_ptr<Communicator> state, const CallTraits& traits, Spec spec, Form form,
                       std::shared_ptr<const OpenChoice> open = nullptr)
      : message(make_message()),
        operation(std::move(state), traits, std::move(spec), form, message, std::move(open)) {
    held.hold_datatype(handles.datatype);
    held.hold_datatype(handles.other_datatype);
    for (MPI_Datatype datatype : handles.more_datatypes) held.hold_datatype(datatype);
    held.hold_op(handles.op);
  }

  HeldHandles held;
  ItsMessage message;
  Operation operation;
};

}  // namespace stretto
