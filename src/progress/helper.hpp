// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "progress/rules.hpp"
#include "threads/helper_thread.hpp"

namespace stretto {

/// The thread that makes progress where no thread of the program does, by the rules of HelperRules.
class Helper {
 public:
  /// One look at the outstanding operations; `must_help`: a thread is blocked, so all of them matter.
  using Poll = std::function<HelperRules::Found(bool must_help)>;

  Helper(const ProgressCounts& counts, Poll poll) : counts_(counts), poll_(std::move(poll)) {}
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper() { stop(); }

  /// An operation has been started, and counted: wakes the thread if it is dormant. `at_once`: also if it
  /// rests. Throws std::system_error if there can be no thread.
  void notice(bool at_once);

  /// A thread is blocked: wakes it.
  void call();

  /// Returns when no look is under way that began before something changed that looks depend on.
  void wait_for_end_of_poll() const;

  /// Ends the thread; the next operation starts it again.
  void stop();

 private:
  void call(std::unique_lock<std::mutex>& lock);
  void run();
  /// Whether it was called meanwhile.
  bool sleep(HelperRules::Time time);
  void sleep_until_called();

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
