// SPDX-License-Identifier: Apache-2.0
// Finds the program's memory that a collective reads and writes, by its arguments alone. That includes calls
// that only the MPI library understands.
#pragma once

#include "interpose/dispatch/program_call.hpp"
#include "interpose/operations/staged_library_call.hpp"

namespace stretto {

/// Returns the bytes that a call touches; none if the library will refuse the arguments. The communicator
/// must not be an intercommunicator.
LibraryBuffers buffers_of(const ProgramCall& program_call);

}  // namespace stretto
