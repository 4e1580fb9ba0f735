// SPDX-License-Identifier: Apache-2.0
// MPICH and Intel MPI report a failed request to the error handler of MPI_COMM_WORLD, not to that of the
// communicator of its message. The error of a collective belongs to the handler of the program's
// communicator. That handler may return errors while the one of MPI_COMM_WORLD ends the job.
#pragma once

#include "mpi/mpi.hpp"

namespace stretto {

/// Whether a call that reports errors to `handler` must test its messages under ReturnedErrors.
bool wants_returned_errors(MPI_Errhandler handler);

/// While an object with `wanted` lives, errors of requests are returned, in all threads.
class ReturnedErrors {
 public:
  explicit ReturnedErrors(bool wanted);
  ReturnedErrors(const ReturnedErrors&) = delete;
  ReturnedErrors& operator=(const ReturnedErrors&) = delete;
  ~ReturnedErrors();

 private:
  bool wanted_;
};

}  // namespace stretto
