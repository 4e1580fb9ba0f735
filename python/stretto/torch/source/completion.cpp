// SPDX-License-Identifier: Apache-2.0
#include "completion.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include "interface.hpp"
#include "pace.hpp"

namespace stretto_torch {
namespace {

using std::chrono::microseconds;

std::atomic<int> waiting{0};

/// One thread at a time leads: it looks at all works. What follows a work (a callback of its future) may wait
/// for the future of another one, so before it tells of ends the leader steps down, and a thread that is to
/// spare leads on where there is something to be looked at. Mostly there are two threads, of which one waits.
class Completion {
 public:
  void add(c10::intrusive_ptr<Work> work, bool at_once) {
    const std::lock_guard<std::mutex> lock(mutex_);
    added_.push_back(std::move(work));
    if (!is_led_) {
      find_leader();
    } else if (at_once || is_dormant_) {
      call();
    }
  }

  void look_at_once() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_led_) find_leader();
    call();
  }

  void stop() {
    std::unique_lock<std::mutex> lock(mutex_);
    stopping_ = true;
    call();
    to_spare_.notify_all();
    // One may be in a callback that never returns.
    if (!ended_.wait_for(lock, longest_end, [&] { return threads_ == 0; })) return;
    stopping_ = false;
    Works rest = std::exchange(works_, {});
    for (auto& work : added_) rest.push_back(std::move(work));
    added_.clear();
    lock.unlock();
    for (const auto& work : rest) {
      if (work->try_end()) work->tell();
    }
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Works = std::vector<c10::intrusive_ptr<Work>>;

  /// While another thread waits, and so makes progress with everything; or soon after the last work.
  static constexpr microseconds tick{1000};
  /// So many ticks after the last work it sleeps until it is called.
  static constexpr int ticks_until_dormant = 3;
  static constexpr std::chrono::seconds longest_end{5};

  /// Under the lock. Where the system has no thread to give there is none: the next call tries again, and so
  /// does the thread that asks.
  void find_leader() {
    if (spare_ > 0) {
      is_led_ = is_wanted_ = true;
      to_spare_.notify_one();
      return;
    }
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread inherits that
    try {
      std::thread thread([this] { run(); });
      pthread_setname_np(thread.native_handle(), "stretto-torch");
      thread.detach();
      ++threads_;
      is_led_ = true;  // as good as
    } catch (const std::system_error&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  /// Under the lock.
  void call() {
    called_ = true;
    wake_up_.notify_one();
  }

  void run() {
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // ns; the usual 50 µs is longer than a nap
    Lock lock(mutex_);
    while (!stopping_) {
      Works ended = lead(lock);
      is_led_ = false;
      if (!stopping_ && (!works_.empty() || !added_.empty())) find_leader();
      lock.unlock();
      for (const auto& work : ended) work->tell();
      ended.clear();
      lock.lock();
      if (stopping_) break;
      if (!is_led_) {
        is_led_ = true;
        continue;
      }
      ++spare_;
      to_spare_.wait(lock, [&] { return stopping_ || is_wanted_; });
      --spare_;
      is_wanted_ = false;
    }
    if (--threads_ > 0) return;
    is_led_ = false;
    ended_.notify_all();
  }

  /// Until some have ended, of which nobody was told. Under the lock, but while it looks and sleeps; `works_`
  /// is the leader's.
  Works lead(Lock& lock) {
    Pace pace;
    int idle_ticks = 0;
    while (!stopping_) {
      if (!added_.empty()) pace.hurry();
      for (auto& work : added_) works_.push_back(std::move(work));
      added_.clear();
      if (works_.empty()) {
        idle_ticks = sleep(lock, tick, ++idle_ticks > ticks_until_dormant) ? 0 : idle_ticks;
        continue;
      }
      idle_ticks = 0;
      lock.unlock();
      const bool others_wait = waiting > 0;
      if (others_wait) {
        pace.hurry();  // they may leave it to this thread any time
      } else if (stretto.progress() != 0) {
        pace.fruitful();
      }
      Works ended;
      for (const auto& work : works_) {
        if (work->try_end()) ended.push_back(work);
      }
      works_.erase(std::remove_if(works_.begin(), works_.end(), [](auto& work) { return work->has_ended(); }),
                   works_.end());
      lock.lock();
      if (!ended.empty()) return ended;
      sleep(lock, others_wait ? tick : pace.nap(), false);
    }
    return {};
  }

  /// Whether it was called meanwhile.
  bool sleep(Lock& lock, std::chrono::nanoseconds time, bool until_called) {
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
  std::condition_variable wake_up_;   // the leader
  std::condition_variable to_spare_;  // another one
  std::condition_variable ended_;
  Works works_;
  Works added_;
  int threads_ = 0;
  int spare_ = 0;
  bool is_led_ = false;
  bool is_wanted_ = false;  // to lead
  bool called_ = false;
  bool is_dormant_ = false;
  bool stopping_ = false;
};

/// Never destroyed: threads may outlive static objects.
Completion& completion() {
  static auto& one = *new Completion;
  return one;
}

}  // namespace

void complete_later(c10::intrusive_ptr<Work> work, bool at_once) {
  completion().add(std::move(work), at_once);
}

void look_at_once() {
  completion().look_at_once();
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
