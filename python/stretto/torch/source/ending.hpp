// SPDX-License-Identifier: Apache-2.0
// The end of the process. A detached thread may still wait for a work at that time. After MPI_Finalize, the
// thread must not call MPI: the MPI library would end the job with an error.
#pragma once

namespace stretto_torch {

/// Permission to call MPI while this exists, if it is granted. Until the process ends it is always granted,
/// and then only to the thread that ends the process.
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

/// Returns when no other thread is in MPI. The thread that ends the process must call this.
void keep_others_out_of_mpi();

/// Blocks a thread that must not continue, and must not return to Python, which is ending.
[[noreturn]] void sleep_until_process_ends();

}  // namespace stretto_torch
