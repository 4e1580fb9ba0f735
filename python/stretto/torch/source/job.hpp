// SPDX-License-Identifier: Apache-2.0
// The job of this process. With MPI there is a single job, which ends with the process. Without MPI, a job
// begins by a store and ends with its last group. After that, another job may begin.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace stretto_torch {

class ProcessGroup;

/// Begins a job. Collective over the ranks, which have the same store. Throws if the job cannot begin.
void begin_by_store(int rank, int ranks, const c10::intrusive_ptr<c10d::Store>& store,
                    const std::optional<std::string>& host, std::chrono::milliseconds timeout);

bool is_in_store_job();

/// The membership of a group in the job of this process.
class Membership {
 public:
  explicit Membership(ProcessGroup& group);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  ~Membership() { leave(); }

  /// Leaves the job. The last group ends a job that began by a store. Works in flight have some seconds to
  /// end. Works that have not ended by then fail.
  void leave();

 private:
  ProcessGroup& group_;
};

/// Ends the job at the end of the process, when no other thread calls Stretto any more. `began`: the time
/// since which calls in flight have had time to end. `reason`: why this rank has failed, which is reported to
/// the other ranks; empty if it has not failed.
void end_store_job(std::chrono::steady_clock::time_point began, const std::string& reason);

}  // namespace stretto_torch
