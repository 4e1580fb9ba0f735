// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

#include "progress/rules.hpp"
#include "threads/helper_thread.hpp"

namespace stretto {

/// The thread that makes progress when no thread of the program does, by the rules of HelperRules.
class Helper {
 public:
  /// Polls the outstanding operations once. `must_help`: a thread is blocked, so all operations matter.
  using Poll = std::function<HelperRules::Found(bool must_help)>;

  Helper(const ProgressCounts& counts, Poll poll) : counts_(counts), poll_(std::move(poll)) {}
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper() { stop(); }

  /// Starts the thread, which is dormant until it is called. Throws std::system_error if it cannot.
  void start();

  /// To be called when an operation has been started and counted. Wakes the thread if it is dormant; with
  /// `at_once` also from a nap.
  void notice(bool at_once);

  /// Wakes the thread, because another one is blocked.
  void call();

  /// Returns when no poll is running that began before the caller changed the state on which polls depend.
  void wait_for_end_of_poll() const;

  /// Ends the thread.
  void stop();
  [[nodiscard]] bool is_running() const { return thread_.is_running(); }

 private:
  void run();
  /// Returns whether it was called meanwhile.
  bool sleep(HelperRules::Time time);
  /// Sleeps until it is called, but no longer than `longest`.
  void sleep_until_called(std::optional<HelperRules::Time> longest);

  const ProgressCounts& counts_;
  Poll poll_;
  std::mutex mutex_;
  std::condition_variable wake_up_;
  HelperThread thread_;
  bool called_ = false;
  std::atomic<bool> is_awake_{false};
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> is_polling_{false};
};

}  // namespace stretto
