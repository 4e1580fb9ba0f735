// SPDX-License-Identifier: Apache-2.0
// Functions that make and free the program's handles.
#include "interpose/communicators/communicator.hpp"
#include "interpose/handles/held_handles.hpp"
#include "interpose/handles/known_operation.hpp"
#include "interpose/passing/entry.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "mpi/places.hpp"

namespace stretto {

// MPI_Op_create_c is left alone: no function with large counts is known, and a program may check whether
// the library has it. Fortran's layers call this entry with a function of Fortran.
STRETTO_TAKE_OVER(Op_create, (void* function, int commute, void* op), (function, commute, op), {
  const int result = next(function, commute, op);
  if (result == MPI_SUCCESS) note_operation(Place<MPI_Op>::of_program(op), function);
  return result;
})

STRETTO_TAKE_OVER(Type_free, (void* datatype), (datatype), {
  const auto handle = Place<MPI_Datatype>::of_program(datatype);
  if (handle) forget_datatype(handle);
  free_left_handles();
  if (handle && postpone_datatype_free(handle)) {
    handle.store(mpi.datatype_null);
    return MPI_SUCCESS;
  }
  return next(datatype);
})

STRETTO_TAKE_OVER(Op_free, (void* op), (op), {
  const auto handle = Place<MPI_Op>::of_program(op);
  if (handle) forget_operation(handle);
  free_left_handles();
  if (handle && postpone_op_free(handle)) {
    handle.store(mpi.op_null);
    return MPI_SUCCESS;
  }
  return next(op);
})

STRETTO_TAKE_OVER(Comm_free, (void* comm), (comm), {
  if (comm == nullptr) return next(comm);
  const FreeingCommunicator freeing(Place<MPI_Comm>::of_program(comm).load());
  return next(comm);
})

STRETTO_TAKE_OVER(Comm_disconnect, (void* comm), (comm), {
  const BlockedScope blocked;
  if (comm == nullptr) return next(comm);
  const FreeingCommunicator freeing(Place<MPI_Comm>::of_program(comm).load());
  return next(comm);
})

}  // namespace stretto
