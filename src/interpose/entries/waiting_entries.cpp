// SPDX-License-Identifier: Apache-2.0
// Entries of the functions that may wait, poll or make a persistent collective, as far as any mpi.h has them.
// They are made from functions.txt. Outstanding operations go on meanwhile.
#include "interpose/operations/requests.hpp"
#include "interpose/passing/entry.hpp"
#include "interpose/progress/progress.hpp"
#include "mpi/places.hpp"

namespace stretto {

// The functions of functions.txt that need an entry, if the mpi.h of this build has them. The arguments are
// words as they are in registers and on the stack, whatever they mean.
using Word = RawHandle;

#define STRETTO_WAITS(function, parameters, arguments, last)    \
  STRETTO_TAKE_OVER_FUNCTION(function, parameters, arguments, { \
    const BlockedScope blocked;                                 \
    return next arguments;                                      \
  })

#define STRETTO_POLLS(function, parameters, arguments, last)    \
  STRETTO_TAKE_OVER_FUNCTION(function, parameters, arguments, { \
    if (has_outstanding()) make_progress();                     \
    return next arguments;                                      \
  })

#define STRETTO_MAKES_PERSISTENT(function, parameters, arguments, last)                                \
  STRETTO_TAKE_OVER_FUNCTION(function, parameters, arguments, {                                        \
    const BlockedScope blocked;                                                                        \
    const int result = next arguments;                                                                 \
    if (result == MPI_SUCCESS) {                                                                       \
      note_persistent_of_library(Place<MPI_Request>::of_program(reinterpret_cast<const void*>(last))); \
    }                                                                                                  \
    return result;                                                                                     \
  })

#include "generated_entries.inc"

}  // namespace stretto
