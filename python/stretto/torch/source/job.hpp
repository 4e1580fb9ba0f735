// SPDX-License-Identifier: Apache-2.0
// The job of this process. With MPI there is a single job, which ends with the process. Without MPI, a job
// begins by a store and ends with its last group, or when another one begins.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace stretto_torch {

class ProcessGroup;

/// Begins a job. Collective over the ranks, which have the same store and the same secret. Throws if the job
/// cannot begin.
void begin_by_store(int rank, int ranks, const c10::intrusive_ptr<c10d::Store>& store,
                    const std::optional<std::string>& host, const std::string& secret,
                    std::chrono::milliseconds timeout);

bool is_in_store_job();
/// Whether the job may get more groups: it has one that the program has not destroyed.
bool may_join_store_job();

/// The membership of a group in the job of this process.
class Membership {
 public:
  explicit Membership(ProcessGroup& group);
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  ~Membership() { leave(); }

  /// To be called when the program has destroyed the group. As with gloo, whoever still holds its object may
  /// use it, until the object is gone, the process ends or begins another job.
  void hold();
  /// Leaves the job. The last group ends a job that began by a store. Works in flight have some seconds to
  /// end. Works that have not ended by then fail.
  void leave();

 private:
  ProcessGroup& group_;
};

/// Lets the job end with this process: after all that Python does at its end, and before Stretto and MPI end.
/// To be called when the job has begun; later calls do nothing.
void end_with_process();
/// Notes why this process is going to end. The other ranks hear it.
void note_exception(const std::string& line);

}  // namespace stretto_torch
