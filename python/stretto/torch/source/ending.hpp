// SPDX-License-Identifier: Apache-2.0
// The end of the process. A detached thread may then still wait for a work. After MPI_Finalize it must not
// call MPI, or the MPI library ends the job with an error.
#pragma once

namespace stretto_torch {

/// Permission to call MPI while this exists, if it is granted: always until the process ends, and then only
/// to the thread that ends it.
class MayCallMpi {
 public:
  MayCallMpi();
  MayCallMpi(const MayCallMpi&) = delete;
  MayCallMpi& operator=(const MayCallMpi&) = delete;
  ~MayCallMpi();
  explicit operator bool() const { return may_; }

 private:
  bool may_;
};

/// The thread that ends the process must call this. Returns when no other thread is in MPI.
void keep_others_out_of_mpi();

/// Blocks a thread that must not continue, and must not return to Python, which is ending.
[[noreturn]] void sleep_until_process_ends();

}  // namespace stretto_torch
