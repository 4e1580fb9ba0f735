// SPDX-License-Identifier: Apache-2.0
#include "completion.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

#include "ending.hpp"
#include "interface.hpp"
#include "job.hpp"
#include "of_process.hpp"
#include "pace.hpp"

namespace stretto_torch {
namespace {

using std::chrono::microseconds;

std::atomic<int> waiting{0};

/// The completing threads. One thread at a time is the leader, which polls all works. A callback of a work's
/// future may wait for the future of any other work, even of one that has ended in the same poll. So before
/// the leader completes a future, it steps down, and a spare thread becomes the leader and completes the next
/// future. Usually there are two threads, and one of them waits.
class Completion {
 public:
  /// Adds a work. Returns false if the threads have ended, since the process ends.
  bool add(const c10::intrusive_ptr<Work>& work, bool at_once) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (leaves_) return false;
    added_.push_back(work);
    if (!is_led_) {
      find_leader();
    } else if (at_once || is_dormant_) {
      call();
    }
    return true;
  }

  void poll_at_once() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (leaves_) return;
    if (!is_led_) find_leader();
    call();
  }

  void end_all(const std::string& why) {
    wait_for_all();
    set_reason_to_end(why);
    // Once the completing threads have ended, nobody ends the works of threads that the program has left.
    const auto until = Clock::now() + (is_stopped() ? Clock::duration{} : patience);
    while (has_works() && Clock::now() < until) std::this_thread::sleep_for(tick / 10);
    set_reason_to_end("");
  }

  void stop() {
    wait_for_all();
    Lock lock(mutex_);
    // A thread may be in a callback that never returns.
    ended_.wait_for(lock, patience, [&] { return ended_works_.empty(); });
    leaves_ = true;
    call();
    to_spare_.notify_all();
    ended_.wait_for(lock, last_moment, [&] { return threads_ == 0; });
  }

  bool is_stopped() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return leaves_;
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Works = std::vector<c10::intrusive_ptr<Work>>;

  /// Makes progress until all works have ended except receives, which others may never answer, or until
  /// nothing has moved for some seconds.
  void wait_for_all() {
    moved_ = Clock::now();
    while (Work::in_flight() > 0 && Clock::now() < moved_.load() + patience) {
      if (stretto.progress() != 0) {
        moved_ = Clock::now();
      } else {
        std::this_thread::sleep_for(tick / 10);
      }
    }
  }

  bool has_works() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return is_led_ ? has_led_works_ || !added_.empty() || !ended_works_.empty() : has_something();
  }

  void set_reason_to_end(const std::string& why) {
    const std::lock_guard<std::mutex> lock(mutex_);
    reason_to_end_ = why;
    if (!is_led_ && has_something()) find_leader();
    call();
  }

  /// The time that the leader sleeps while another thread waits, since that thread makes progress with all
  /// works, and soon after the last work.
  static constexpr microseconds tick{1000};
  /// The number of ticks after the last work until the leader sleeps and must be woken.
  static constexpr int ticks_until_dormant = 3;
  /// The time in which nothing moves until a work that others do not complete is given up at the end.
  static constexpr std::chrono::seconds patience{5};
  static constexpr std::chrono::milliseconds last_moment{100};

  // The lock must be held for all of these.

  /// Wakes a spare thread or starts a new one. If the system refuses a thread, the next call tries
  /// again, or a thread that has stepped down leads again.
  void find_leader() {
    if (spare_ > 0) {
      is_led_ = is_wanted_ = true;
      to_spare_.notify_one();
      return;
    }
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits the mask
    try {
      std::thread thread([this] { run(); });
      pthread_setname_np(thread.native_handle(), "stretto-torch");
      thread.detach();
      ++threads_;
      is_led_ = true;  // it will lead as soon as it runs
    } catch (const std::system_error&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void call() {
    called_ = true;
    wake_up_.notify_one();
    if (is_napping_) stretto.wake();
  }

  /// Whether there is any work. Only the leader may use `works_`, or any thread if there is no leader.
  [[nodiscard]] bool has_something() const {
    return !works_.empty() || !added_.empty() || !ended_works_.empty();
  }

  void run() {
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // ns; the default of 50 µs is longer than a nap
    Lock lock(mutex_);
    bool leads = true;
    while (true) {
      if (leads) {
        lead(lock);
        is_led_ = false;
        complete_futures(lock);
      }
      if (leaves_) break;
      leads = !is_led_;
      if (leads) {
        is_led_ = true;
        continue;
      }
      ++spare_;
      to_spare_.wait(lock, [&] { return is_wanted_ || leaves_; });
      --spare_;
      leads = std::exchange(is_wanted_, false);
    }
    --threads_;
    to_spare_.notify_all();
    ended_.notify_all();
  }

  void complete_futures(Lock& lock) {
    while (!ended_works_.empty() && !leaves_) {
      c10::intrusive_ptr<Work> work = std::move(ended_works_.back());
      ended_works_.pop_back();
      if (!is_led_ && has_something()) find_leader();
      lock.unlock();
      work->complete_future();
      work.reset();
      lock.lock();
    }
    ended_.notify_all();
  }

  /// Polls until works have ended whose futures are not completed. Holds the lock except while it polls and
  /// sleeps.
  void lead(Lock& lock) {
    Pace pace;
    int idle_ticks = 0;
    while (ended_works_.empty() && !leaves_) {
      if (!added_.empty()) pace.hurry();
      for (auto& work : added_) works_.push_back(std::move(work));
      added_.clear();
      has_led_works_ = !works_.empty();
      if (works_.empty()) {
        if (Work::has_failed_lately()) {
          // This rank still tells others of the failure.
          lock.unlock();
          if (const MayCallMpi may; may) stretto.progress();
          lock.lock();
          sleep(lock, tick, false);
          continue;
        }
        idle_ticks = sleep(lock, tick, ++idle_ticks > ticks_until_dormant) ? 0 : idle_ticks;
        continue;
      }
      idle_ticks = 0;
      const std::string reason_to_end = reason_to_end_;
      lock.unlock();
      const bool others_wait = waiting > 0;
      if (others_wait) {
        pace.hurry();  // waiting threads may hand over to this one at any time
      } else if (const MayCallMpi may; may && stretto.progress() != 0) {
        pace.fruitful();
        moved_ = Clock::now();
      }
      Works ended;
      for (const auto& work : works_) {
        if (reason_to_end.empty() ? work->try_end() : work->end_anyway(reason_to_end)) ended.push_back(work);
      }
      works_.erase(std::remove_if(works_.begin(), works_.end(), [](auto& work) { return work->has_ended(); }),
                   works_.end());
      lock.lock();
      ended_works_.assign(ended.rbegin(), ended.rend());
      if (!ended_works_.empty()) continue;
      if (others_wait || !is_in_store_job()) {
        sleep(lock, others_wait ? tick : pace.nap(), false);
      } else {
        nap(lock, pace.nap());
      }
    }
  }

  /// Sleeps, but is also woken by messages from other nodes.
  void nap(Lock& lock, std::chrono::nanoseconds time) {
    if (std::exchange(called_, false)) return;
    is_napping_ = true;
    lock.unlock();
    stretto.await(std::chrono::duration<double>(time).count());
    lock.lock();
    is_napping_ = called_ = false;
  }

  /// Sleeps. Returns whether the thread was called meanwhile.
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
  std::condition_variable wake_up_;   // for the leader
  std::condition_variable to_spare_;  // for spare threads
  std::condition_variable ended_;
  Works works_;
  Works added_;
  Works ended_works_;  // ended, but their futures are not completed; the first at the back
  int threads_ = 0;
  int spare_ = 0;
  bool is_led_ = false;
  bool is_wanted_ = false;  // whether a spare thread must become the leader
  bool called_ = false;
  bool is_napping_ = false;  // in stretto_await()
  bool is_dormant_ = false;
  std::string reason_to_end_;  // why all works must end; empty if they need not
  bool leaves_ = false;
  bool has_led_works_ = false;  // whether the leader has works
  std::atomic<Clock::time_point> moved_{Clock::now()};
};

Completion& completion() {
  return of_process<Completion>();
}

}  // namespace

void complete_later(const c10::intrusive_ptr<Work>& work, bool at_once) {
  if (!completion().add(work, at_once)) work->wait();
}

void end_all_works(const std::string& why) {
  completion().end_all(why);
}

void poll_at_once() {
  completion().poll_at_once();
}

void stop_completing() {
  completion().stop();
}

bool completing_is_stopped() {
  return completion().is_stopped();
}

Waiting::Waiting() {
  ++waiting;
}

Waiting::~Waiting() {
  --waiting;
}

}  // namespace stretto_torch
