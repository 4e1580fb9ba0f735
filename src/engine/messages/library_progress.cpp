// SPDX-License-Identifier: Apache-2.0
#include "engine/messages/library_progress.hpp"

#include <mutex>

#include "threads/spin_lock.hpp"

namespace stretto {
namespace {

/// A tag of channel 0, which no communicator gets. Tag 0 is that of releases (engine/messages/channel.hpp).
constexpr int never_sent = 1;

SpinLock lock;  // only one thread at a time may test a request
bool is_posted = false;
MPI_Request unmatched{};

}  // namespace

void drive_library(MPI_Comm comm) {
  const std::unique_lock guard(lock, std::try_to_lock);
  if (!guard.owns_lock()) return;
  if (!is_posted) {
    int rank = 0;
    mpi.Comm_rank(comm, &rank);
    is_posted = mpi.Irecv(nullptr, 0, mpi.byte, rank, never_sent, comm, &unmatched) == MPI_SUCCESS;
    if (!is_posted) return;
  }
  int done = 0;
  mpi.Test(&unmatched, &done, mpi.status_ignore);
  is_posted = done == 0;  // the receive ends if all messages fail (mpi/own_network.hpp)
}

void stop_driving_library() {
  const std::lock_guard guard(lock);
  if (!is_posted) return;
  is_posted = false;
  mpi.Cancel(&unmatched);
  mpi.Waitall(1, &unmatched, mpi.statuses_ignore);
}

}  // namespace stretto
