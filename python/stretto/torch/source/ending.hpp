// SPDX-License-Identifier: Apache-2.0
// The end of the process, at which a thread that nobody joins may still be in a work's wait: once MPI is
// finalized it must call MPI no more, or the MPI library ends the job with an error.
#pragma once

namespace stretto_torch {

/// MPI may be called while this lives, if it says so: always, until the process ends, and then by the thread
/// that ends it.
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

/// To be called by the thread that ends the process. Returns when no other one is in MPI.
void keep_others_out_of_mpi();

/// What is left to a thread that must not go on, and not return to Python either, which is ending.
[[noreturn]] void sleep_until_process_ends();

}  // namespace stretto_torch
