// SPDX-License-Identifier: Apache-2.0
// Functions as a program calls them: through Stretto's library, which is linked. They take raw handles,
// because the measuring program is compiled once for all interfaces.
#pragma once

#include <cstddef>
#include <string>

#include "mpi/places.hpp"

extern "C" {
int MPI_Comm_free(void* comm);
int MPI_Finalize();
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int MPI_Request_free(void* request);
int MPI_Start(void* request);
int MPI_Test(void* request, int* flag, void* status);
int MPI_Wait(void* request, void* status);
// From include/stretto/stretto.h.
int stretto_allreduce(const void* sendbuf, void* recvbuf, int count, stretto::MPI_Datatype datatype,
                      stretto::MPI_Op op, stretto::MPI_Comm comm, const char* spec);
int stretto_bcast(void* buffer, int count, stretto::MPI_Datatype datatype, int root, stretto::MPI_Comm comm,
                  const char* spec);
int stretto_choice(const char* collective, stretto::MPI_Comm comm, std::size_t bytes, char* spec, int length);
const char* stretto_version();
}

namespace stretto::bench {

/// Returns MPI_`name`, or else MPIX_`name`, as a program finds it; a null pointer if the MPI library has no
/// such function. A process without an MPI library finds no function of MPI, so it gets Stretto's own.
void* program_function(const std::string& name);

/// Frees a communicator on which Stretto may have carried out calls.
inline void free_communicator(MPI_Comm comm) {
  ProgramHandle<MPI_Comm> handle(comm);
  MPI_Comm_free(handle.address());
}

}  // namespace stretto::bench
