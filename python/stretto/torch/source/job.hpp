// SPDX-License-Identifier: Apache-2.0
// The job of this process. With MPI there is one, which ends with the process. Without MPI, a job begins by a
// store and ends with its last group, after which another one may begin.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace stretto_torch {

class ProcessGroup;

/// Collective over the ranks, which have the same store. Throws if the job cannot begin.
void begin_by_store(int rank, int ranks, const c10::intrusive_ptr<c10d::Store>& store,
                    const std::optional<std::string>& host, std::chrono::milliseconds timeout);

bool is_in_store_job();

/// What a group of a job is while this exists.
class Membership {
 public:
  explicit Membership(ProcessGroup& group);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  ~Membership() { leave(); }

  /// The last one ends a job that began by a store. Works in flight have some seconds to end. Those that have
  /// not ended by then fail.
  void leave();

 private:
  ProcessGroup& group_;
};

/// For the end of the process, when no other thread calls Stretto any more. `began`: since when calls in
/// flight have had time to end. `reason`: why this rank has failed, which the others hear; empty if it has
/// not.
void end_store_job(std::chrono::steady_clock::time_point began, const std::string& reason);

}  // namespace stretto_torch
