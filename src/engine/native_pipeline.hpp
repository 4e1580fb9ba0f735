// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "algorithms/collective.hpp"
#include "engine/buffer_pool.hpp"
#include "engine/call.hpp"
#include "engine/pipelining.hpp"

namespace stretto {

/// The MPI library's own collective, cut into k segments that run as concurrent non-blocking calls on the
/// program's communicator, with a wait at the end: Listings 1 (`segment_bytes`) and 2 (`segments`) of the
/// pipelined paper, and its section 6 for the other collectives. For one call.
class NativePipeline {
 public:
  NativePipeline(Collective collective, MPI_Comm comm, const Pipelining& pipelining)
      : collective_(collective), comm_(comm), pipelining_(pipelining) {}

  /// Returns an MPI error code, which the library has reported. Throws std::bad_alloc, before anything is
  /// started.
  int run(const Call& call);

 private:
  int start_segments(const Call& call);
  int start_cut_segments(const Call& call, const Partition& segments);
  int start_reduce_scatter(const Call& call);
  int start_allgather(const Call& call);
  int wait_for_all();

  Collective collective_;
  MPI_Comm comm_;
  Pipelining pipelining_;
  std::vector<MPI_Request> requests_;
  std::vector<int> counts_;  // of reduce_scatter, for each segment and rank
  std::vector<MPI_Datatype> types_;
  PooledBuffer packed_;
};

}  // namespace stretto
