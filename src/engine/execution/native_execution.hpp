// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "algorithms/collective.hpp"
#include "engine/data/buffer_pool.hpp"
#include "engine/execution/execution.hpp"
#include "schedule/pipelining.hpp"

namespace stretto {

/// The MPI library's own collective, cut into k segments that run as concurrent non-blocking calls on the
/// program's communicator: Listings 1 (`segment_bytes`) and 2 (`segments`) of the pipelined paper, and its
/// section 6 for the other collectives. The library reports its errors itself.
class NativeExecution final : public Execution {
 public:
  NativeExecution(Collective collective, MPI_Comm comm, const Pipelining& pipelining)
      : collective_(collective), comm_(comm), pipelining_(pipelining) {}
  ~NativeExecution() override;

  /// Whether start() may wait for other ranks, because the library's non-blocking form is not reliable. The
  /// answer is the same on all ranks.
  static bool may_block(Collective collective, const Element& element);

  [[nodiscard]] std::size_t tags(const Call& /*call*/) const override { return 0; }
  void start(const Call& call, const CallResources& resources) override;
  /// The library does not learn of the call, so ranks that make it wait for this one.
  void start_failed(const Call& call, const CallResources& resources, int error) override;
  [[nodiscard]] bool leaves_buffers_to_library(const Call& call) const override;
  bool progress() override;
  [[nodiscard]] bool ended() const override { return !under_way_; }

 private:
  [[nodiscard]] std::size_t segments_of(const Call& call) const;
  int start_segments(const Call& call);
  int start_cut_segments(const Call& call, const Partition& segments);
  int start_reduce_scatter(const Call& call);
  int start_allgather(const Call& call);
  int start_alltoall(const Call& call);
  void free_types();

  Collective collective_;
  MPI_Comm comm_;
  Pipelining pipelining_;
  bool under_way_ = false;
  int start_error_ = MPI_SUCCESS;
  std::vector<MPI_Request> requests_;
  std::vector<int> counts_;  // of reduce_scatter, per segment and rank
  std::vector<MPI_Datatype> types_;
  PooledBuffer packed_;
};

}  // namespace stretto
