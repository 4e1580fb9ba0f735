// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/execution.hpp"

namespace stretto {

/// The MPI library's own allreduce, cut into k segments that run as concurrent MPI_Iallreduce calls on the
/// program's communicator, with a wait at the end: Listings 1 (`segment_bytes`) and 2 (`segments`) of the
/// pipelined paper.
///
/// Open MPI's MPI_Iallreduce takes a slow algorithm when it is called in place, so there an in-place segment
/// is reduced from a scratch copy.
class NativePipeline {
 public:
  NativePipeline(MPI_Comm comm, const Pipelining& pipelining) : comm_(comm), pipelining_(pipelining) {}

  /// Returns an MPI error code.
  int run(const Call& call);

 private:
  int run_segments(const Call& call);

  MPI_Comm comm_;
  Pipelining pipelining_;
  std::vector<MPI_Request> requests_;
};

}  // namespace stretto
