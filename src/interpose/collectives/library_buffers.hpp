// SPDX-License-Identifier: Apache-2.0
// What a collective reads and writes in the program's memory, by its arguments alone: also for calls that
// only the MPI library understands.
#pragma once

#include "interpose/dispatch/program_call.hpp"
#include "interpose/operations/staged_library_call.hpp"

namespace stretto {

/// Arguments that the library will refuse touch nothing. The communicator is no intercommunicator.
LibraryBuffers buffers_of(const ProgramCall& asked);

}  // namespace stretto
