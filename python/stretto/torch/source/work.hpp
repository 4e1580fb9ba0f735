// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <stretto/group.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace stretto_torch {

using Milliseconds = std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// A call on its way. It ends in whatever thread looks first: one that waits for it, or the completing one.
class Work final : public c10d::Work {
 public:
  struct Task {
    c10d::OpType type;
    const char* title;
    /// For people: what it is, of which group.
    std::string description;
    std::chrono::milliseconds timeout;
    /// What MPI reads and writes.
    std::vector<at::Tensor> buffers;
    /// What the caller gets, in its future.
    std::vector<at::Tensor> outputs;
    /// Brings the result from the buffers to the outputs. May be empty.
    std::function<void()> finish;
  };

  Work(int rank, Task task, std::vector<stretto_work*> calls);
  ~Work() override;

  bool isCompleted() override;
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  int sourceRank() const override;
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

  /// Ends it if it can be ended, or is overdue; whether it has ended. Thread-safe, and never waits.
  bool look();

 private:
  bool has_completed();
  /// By the thread whose turn it is.
  void end(std::unique_lock<std::mutex> turn);
  void fail_overdue(std::unique_lock<std::mutex> turn, std::chrono::milliseconds after);
  void tell(std::exception_ptr error);

  Task task_;
  Clock::time_point began_ = Clock::now();
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::mutex turn_;  // of what looks at the calls
  std::vector<stretto_work*> calls_;
  int source_ = -1;
};

}  // namespace stretto_torch
