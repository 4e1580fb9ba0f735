// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/execution/schedule_execution.hpp"

namespace stretto {

struct OpaqueComm;

namespace faces::sockets {

/// A short collective of the core itself, such as an agreement. It goes up a binomial tree and down again.
/// (An endpoint knows the address of its parent in that tree, before it knows any other.)
class ShortCall {
 public:
  /// Reduces `data` of all ranks. The operation commutes.
  static std::unique_ptr<ShortCall> allreduce(OpaqueComm& comm, void* data, std::size_t count,
                                              const Element& element);
  /// Brings this rank's `bytes` at `part`, and those of all other ranks, to all ranks. `part` may be in its
  /// place in `all`.
  static std::unique_ptr<ShortCall> allgather(OpaqueComm& comm, const void* part, std::size_t bytes,
                                              void* all);
  static std::unique_ptr<ShortCall> bcast(OpaqueComm& comm, void* data, std::size_t bytes, int root);

  /// Goes on as far as possible without waiting. Returns whether it has ended.
  bool advance();
  /// Returns an MPI error code, once it has ended.
  [[nodiscard]] int error() const { return error_; }

 private:
  /// A step is a walk through a schedule. The next one begins when it has ended.
  struct Step {
    std::unique_ptr<ScheduleExecution> execution;
    Call call;
  };

  explicit ShortCall(OpaqueComm& comm);
  void add(Schedule schedule, const Call& call);
  void begin();

  OpaqueComm& comm_;
  int tag_;
  std::vector<std::size_t> borders_;
  std::vector<Step> steps_;
  std::size_t now_ = 0;
  int error_ = MPI_SUCCESS;
};

}  // namespace faces::sockets
}  // namespace stretto
