// SPDX-License-Identifier: Apache-2.0
#include "completion.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <thread>
#include <utility>

#include "interface.hpp"

namespace stretto_torch {
namespace {

using std::chrono::microseconds;

std::atomic<int> waiting{0};

class Completion {
 public:
  void add(c10::intrusive_ptr<Work> work, bool at_once) {
    const std::lock_guard<std::mutex> lock(mutex_);
    added_.push_back(std::move(work));
    if (!thread_.joinable()) start();
    if (at_once || is_dormant_) call();
  }

  void stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!thread_.joinable()) return;
      stopping_ = true;
      call();
    }
    thread_.join();
    thread_ = {};
    stopping_ = false;
  }

 private:
  /// Between looks that find nothing. A shorter one costs a computation on the same core more than it hides.
  static constexpr microseconds shortest_nap{20};
  static constexpr microseconds longest_nap{200};
  /// While another thread waits, and so makes progress with everything; or soon after the last work.
  static constexpr microseconds tick{1000};
  /// So many ticks after the last work it sleeps until it is called.
  static constexpr int ticks_until_dormant = 100;
  /// After something has happened more is likely to, so it looks again at once, so many times.
  static constexpr int looks_before_nap = 8;

  void start() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread inherits that
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread_.native_handle(), "stretto-torch");
  }

  /// Under the lock.
  void call() {
    called_ = true;
    wake_up_.notify_one();
  }

  void run() {
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // ns; the usual 50 µs is longer than a nap
    microseconds nap = shortest_nap;
    int idle_ticks = 0;
    int fruitless_looks = 0;
    std::vector<c10::intrusive_ptr<Work>> works;
    while (take_added(works)) {
      if (works.empty()) {
        idle_ticks = sleep(tick, ++idle_ticks > ticks_until_dormant) ? 0 : idle_ticks;
        continue;
      }
      idle_ticks = 0;
      const bool others_wait = waiting > 0;
      bool is_fruitful = !others_wait && stretto.progress() != 0;
      const auto ended =
          std::partition(works.begin(), works.end(), [](const auto& work) { return !work->look(); });
      is_fruitful = is_fruitful || ended != works.end();
      works.erase(ended, works.end());
      fruitless_looks = is_fruitful ? 0 : fruitless_looks + 1;
      if (others_wait) {
        sleep(tick, false);
      } else if (fruitless_looks < looks_before_nap) {
        nap = shortest_nap;
        sched_yield();
      } else {
        sleep(nap, false);
        nap = std::min(2 * nap, longest_nap);
      }
    }
    for (const auto& work : works) work->look();
  }

  /// False: it is to stop.
  bool take_added(std::vector<c10::intrusive_ptr<Work>>& works) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& work : added_) works.push_back(std::move(work));
    added_.clear();
    return !stopping_;
  }

  /// Whether it was called meanwhile.
  bool sleep(microseconds time, bool until_called) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (until_called) {
      is_dormant_ = added_.empty();
      wake_up_.wait(lock, [&] { return called_ || !is_dormant_; });
      is_dormant_ = false;
    } else {
      wake_up_.wait_for(lock, time, [&] { return called_; });
    }
    return std::exchange(called_, false);
  }

  std::mutex mutex_;
  std::condition_variable wake_up_;
  std::vector<c10::intrusive_ptr<Work>> added_;
  std::thread thread_;
  bool called_ = false;
  bool is_dormant_ = false;
  bool stopping_ = false;
};

/// Never destroyed: a thread may outlive static objects.
Completion& completion() {
  static auto& one = *new Completion;
  return one;
}

}  // namespace

void complete_later(c10::intrusive_ptr<Work> work, bool at_once) {
  completion().add(std::move(work), at_once);
}

void stop_completing() {
  completion().stop();
}

Waiting::Waiting() {
  ++waiting;
}

Waiting::~Waiting() {
  --waiting;
}

}  // namespace stretto_torch
