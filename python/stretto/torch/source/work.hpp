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

/// Keeps the buffers of calls that have not ended, since MPI may still write to them.
void give_up(const std::vector<stretto_work*>& calls, std::vector<at::Tensor> buffers);
/// Whether calls were given up.
bool has_given_up();
/// Frees the buffers of such calls, when a job without MPI has ended.
void forget_given_up();

/// A call in flight. It is completed by the first thread that polls it: a thread that waits for it, or the
/// completing thread.
class Work final : public c10d::Work {
 public:
  struct Task {
    c10d::OpType type;
    const char* title;
    /// The name of the call and its group, for messages.
    std::string description;
    /// The longest time in which nothing of the call moves. For a message between two ranks it begins when a
    /// thread waits for the work, as with gloo.
    std::chrono::milliseconds timeout;
    /// The tensors whose shapes torch's profiler shows.
    std::vector<at::Tensor> inputs;
    /// The buffers that MPI reads and writes.
    std::vector<at::Tensor> buffers;
    /// The outputs, which are the future's value.
    std::vector<at::Tensor> outputs;
    /// Copies the result from the buffers to the outputs. May be empty.
    std::function<void()> finish;
    /// The number of the call in the flight recorder, if that has it.
    std::optional<std::uint64_t> recorded;
  };

  Work(int rank, Task task, std::vector<stretto_work*> calls);
  ~Work() override;

  bool isCompleted() override;
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  int sourceRank() const override;
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

  /// Ends the work if the call is complete or overdue. Thread-safe, and never waits. Returns true if this
  /// ended the work; then a thread must call complete_future().
  bool try_end();
  /// Ends the work even if the call is not complete; then the work fails. Returns as try_end() does.
  bool end_anyway(const std::string& why);
  /// The number of works that have not ended, except receives.
  static int in_flight();
  /// Whether a work has failed within the last second. Other ranks may not have heard of it yet.
  static bool has_failed_lately();
  [[nodiscard]] bool has_ended();
  /// Completes the work's future, which runs callbacks. If another thread is doing so, waits until the future
  /// is complete. Callbacks may start other works and wait for their futures, so the caller may hold no lock,
  /// and another thread must be able to end those works.
  void complete_future();

 private:
  enum class Poll : std::uint8_t { pending, by_another, ended, forbidden };

  void wait_until_ended(std::chrono::milliseconds timeout);
  /// Polls for a slice of time. After `ended`, a thread must call complete_future(), as after try_end(), and
  /// this thread no longer polls.
  Poll poll(std::optional<Waiting>& polling);
  void sleep_until_ended(Clock::duration longest);
  /// Only for the thread that holds `turn_`.
  void end();
  [[nodiscard]] bool is_complete() const;
  [[nodiscard]] bool is_receive() const;
  [[nodiscard]] bool is_overdue();
  void fail_overdue();
  void fail(const std::string& error);
  void conclude(const std::exception_ptr& error);
  [[nodiscard]] std::string overdue(std::chrono::milliseconds after, const std::string& standing) const;

  Task task_;
  // Only for the thread that holds `turn_`: what had moved when the thread looked last, and when that was
  // new.
  unsigned long long steps_ = 0;
  Clock::time_point moved_ = Clock::now();
  Clock::time_point looked_ = moved_;
  std::atomic<bool> is_awaited_{false};  // a thread waits for it, or has
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::mutex turn_;  // held by the thread that polls the calls
  std::vector<stretto_work*> calls_;
  int source_ = -1;
  std::atomic<bool> future_is_claimed_{false};
};

}  // namespace stretto_torch
