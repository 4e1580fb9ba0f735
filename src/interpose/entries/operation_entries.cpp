// SPDX-License-Identifier: Apache-2.0
// Where the program makes operations. (Not MPI_Op_create_c: nothing is known by a function with large counts,
// and a program may look whether the library has it.) Fortran's layers come here with a function of Fortran.
#include "interpose/handles/known_operation.hpp"
#include "interpose/session/entry.hpp"
#include "interpose/session/session.hpp"

namespace stretto {

STRETTO_TAKE_OVER(Op_create, (void* function, int commute, void* op), {
  const int result = next(function, commute, op);
  if (result == MPI_SUCCESS && session.active && !next.was_looked_at()) {
    note_operation(*static_cast<MPI_Op*>(op), function);
  }
  return result;
})

}  // namespace stretto
