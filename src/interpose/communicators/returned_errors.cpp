// SPDX-License-Identifier: Apache-2.0
#include "interpose/communicators/returned_errors.hpp"

#include <mutex>

#include "threads/spin_lock.hpp"

namespace stretto {

namespace {

SpinLock lock;
int living = 0;
MPI_Errhandler of_program{};  // of MPI_COMM_WORLD, while any object lives

}  // namespace

bool wants_returned_errors(MPI_Errhandler handler) {
  if (mpi.is(Interface::openmpi)) return false;
  if (handler == mpi.errors_are_fatal) return false;  // the job ends in either case
  const std::lock_guard guard(lock);
  if (living > 0) return true;
  MPI_Errhandler of_world{};
  mpi.Comm_get_errhandler(mpi.comm_world, &of_world);
  const bool are_returned = of_world == mpi.errors_return;
  mpi.Errhandler_free(&of_world);
  return !are_returned;
}

ReturnedErrors::ReturnedErrors(bool wanted) : wanted_(wanted) {
  if (!wanted_) return;
  const std::lock_guard guard(lock);
  if (living++ > 0) return;
  mpi.Comm_get_errhandler(mpi.comm_world, &of_program);
  mpi.Comm_set_errhandler(mpi.comm_world, mpi.errors_return);
}

ReturnedErrors::~ReturnedErrors() {
  if (!wanted_) return;
  const std::lock_guard guard(lock);
  if (--living > 0) return;
  mpi.Comm_set_errhandler(mpi.comm_world, of_program);
  mpi.Errhandler_free(&of_program);
}

}  // namespace stretto
