// SPDX-License-Identifier: Apache-2.0
// MPICH and Intel MPI tell the handler of MPI_COMM_WORLD of what goes wrong with a request, not the handler
// of the communicator that its message takes. The error of a collective is for the handler of the program's
// communicator, which may want it returned where that of MPI_COMM_WORLD ends the job.
#pragma once

#include "engine/mpi.hpp"

namespace stretto {

#ifdef STRETTO_ABI_OPENMPI
struct ReturnedErrors {
  explicit ReturnedErrors(bool /*wanted*/) {}
};
#else
/// Whether a call whose errors are for `handler` must test its messages under ReturnedErrors.
bool wants_returned_errors(MPI_Errhandler handler);

/// As long as one lives that was wanted, errors of requests are returned, in all threads.
class ReturnedErrors {
 public:
  explicit ReturnedErrors(bool wanted);
  ReturnedErrors(const ReturnedErrors&) = delete;
  ReturnedErrors& operator=(const ReturnedErrors&) = delete;
  ~ReturnedErrors();

 private:
  bool wanted_;
};
#endif

}  // namespace stretto
