// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <stretto/group.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace stretto_torch {

using Milliseconds = std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class Waiting;

/// Of calls that have not ended, whose buffers MPI may still write to.
void give_up(const std::vector<stretto_work*>& calls, std::vector<at::Tensor> buffers);
/// Whether any were.
bool has_given_up();

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

  /// Ends it if it can be ended, or is overdue. Thread-safe, and never waits. True: it has ended by this
  /// call, and somebody must tell().
  bool try_end();
  [[nodiscard]] bool has_ended();
  /// Its future, and so whoever wants to be called, of the end; where another thread does so, it has told the
  /// future afterwards. Who is called may start other works, and wait for their futures: so no lock is held,
  /// and another thread must be there to end those.
  void tell();

 private:
  enum class Look : std::uint8_t { fruitless, by_another, ended, forbidden };

  void wait_until_ended(std::chrono::milliseconds timeout);
  /// For a slice of time. After `ended`, as after try_end(), somebody must tell(), and this thread looks no
  /// longer.
  Look look(std::optional<Waiting>& looking);
  void sleep_until_ended(Clock::duration longest);
  /// By the thread whose turn it is.
  void end();
  void fail_overdue();
  [[nodiscard]] std::exception_ptr overdue(std::chrono::milliseconds after,
                                           const std::string& standing) const;

  Task task_;
  const Clock::time_point began_ = Clock::now();
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::mutex turn_;  // of what looks at the calls
  std::vector<stretto_work*> calls_;
  int source_ = -1;
  std::atomic<bool> is_told_{false};
};

}  // namespace stretto_torch
