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
#include "pace.hpp"

namespace stretto_torch {
namespace {

using std::chrono::microseconds;

std::atomic<int> waiting{0};

/// One thread at a time leads: it looks at all works. What follows a work (a callback of its future) may wait
/// for the future of any other one, be it one that has ended in the same look. So before a thread tells of an
/// end the leader steps down, and a thread that is to spare leads on, and tells of the next, where there is
/// something left. Mostly there are two threads, of which one waits.
class Completion {
 public:
  /// False where the threads have left, as the process ends.
  bool add(const c10::intrusive_ptr<Work>& work, bool at_once) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (leaving_ == Leaving::at_once) return false;
    added_.push_back(work);
    if (!is_led_) {
      find_leader();
    } else if (at_once || is_dormant_) {
      call();
    }
    return true;
  }

  void look_at_once() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (leaving_ == Leaving::at_once) return;
    if (!is_led_) find_leader();
    call();
  }

  void stop(bool patiently) {
    const auto until = Clock::now() + longest_end;
    Lock lock(mutex_);
    leave(patiently ? Leaving::when_all_is_told : Leaving::at_once);
    const auto all_have_left = [&] { return threads_ == 0; };
    const bool have_left = ended_.wait_until(lock, until, all_have_left);
    leave(Leaving::at_once);
    // One may be in a callback that never returns.
    if (!have_left && !ended_.wait_for(lock, last_moment, all_have_left)) return;
    Works rest = std::exchange(works_, {});
    for (auto& work : added_) rest.push_back(std::move(work));
    added_.clear();
    lock.unlock();
    // What has ended counts as such. Nobody is told any more: what follows might wait for another work.
    const auto try_all = [&] {
      stretto.progress();
      for (const auto& work : rest) work->try_end();
      return std::all_of(rest.begin(), rest.end(), [](auto& work) { return work->has_ended(); });
    };
    while (!try_all() && patiently && Clock::now() < until) std::this_thread::sleep_for(tick);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Works = std::vector<c10::intrusive_ptr<Work>>;

  enum class Leaving : std::uint8_t { not_yet, when_all_is_told, at_once };

  /// While another thread waits, and so makes progress with everything; or soon after the last work.
  static constexpr microseconds tick{1000};
  /// So many ticks after the last work it sleeps until it is called.
  static constexpr int ticks_until_dormant = 3;
  static constexpr std::chrono::seconds longest_end{5};
  static constexpr std::chrono::milliseconds last_moment{100};

  // All of these under the lock.

  /// Where the system has no thread to give there is none: the next call tries again, and so does the thread
  /// that asks.
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

  void call() {
    called_ = true;
    wake_up_.notify_one();
  }

  void leave(Leaving when) {
    leaving_ = when;
    if (when == Leaving::when_all_is_told && !is_led_ && has_something()) find_leader();
    call();
    to_spare_.notify_all();
  }

  /// `works_` is the leader's: only for the leader, or where there is none.
  [[nodiscard]] bool has_something() const { return !works_.empty() || !added_.empty() || !untold_.empty(); }
  [[nodiscard]] bool has_led_to_the_end() const {
    return leaving_ == Leaving::at_once || (leaving_ == Leaving::when_all_is_told && !has_something());
  }
  [[nodiscard]] bool may_leave() const {
    return is_led_ ? leaving_ == Leaving::at_once : has_led_to_the_end();
  }

  void run() {
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // ns; the usual 50 µs is longer than a nap
    Lock lock(mutex_);
    bool leads = true;
    while (true) {
      if (leads) {
        lead(lock);
        is_led_ = false;
        tell(lock);
      }
      if (may_leave()) break;
      leads = !is_led_;
      if (leads) {
        is_led_ = true;
        continue;
      }
      ++spare_;
      to_spare_.wait(lock, [&] { return is_wanted_ || may_leave(); });
      --spare_;
      leads = std::exchange(is_wanted_, false);
    }
    --threads_;
    to_spare_.notify_all();
    ended_.notify_all();
  }

  void tell(Lock& lock) {
    while (!untold_.empty() && leaving_ != Leaving::at_once) {
      c10::intrusive_ptr<Work> work = std::move(untold_.back());
      untold_.pop_back();
      if (!is_led_ && has_something()) find_leader();
      lock.unlock();
      work->tell();
      work.reset();
      lock.lock();
    }
  }

  /// Until some have ended, of which nobody was told. The lock is held but while it looks and sleeps.
  void lead(Lock& lock) {
    Pace pace;
    int idle_ticks = 0;
    while (untold_.empty() && !has_led_to_the_end()) {
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
      } else if (const MayCallMpi may; may && stretto.progress() != 0) {
        pace.fruitful();
      }
      Works ended;
      for (const auto& work : works_) {
        if (work->try_end()) ended.push_back(work);
      }
      works_.erase(std::remove_if(works_.begin(), works_.end(), [](auto& work) { return work->has_ended(); }),
                   works_.end());
      lock.lock();
      untold_.assign(ended.rbegin(), ended.rend());
      if (untold_.empty()) sleep(lock, others_wait ? tick : pace.nap(), false);
    }
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
  Works untold_;  // in the order in which they ended, from the back
  int threads_ = 0;
  int spare_ = 0;
  bool is_led_ = false;
  bool is_wanted_ = false;  // to lead
  bool called_ = false;
  bool is_dormant_ = false;
  Leaving leaving_ = Leaving::not_yet;
};

/// Never destroyed: threads may outlive static objects.
Completion& completion() {
  static auto& one = *new Completion;
  return one;
}

}  // namespace

void complete_later(const c10::intrusive_ptr<Work>& work, bool at_once) {
  if (!completion().add(work, at_once)) work->wait();
}

void look_at_once() {
  completion().look_at_once();
}

void stop_completing(bool patiently) {
  completion().stop(patiently);
}

Waiting::Waiting() {
  ++waiting;
}

Waiting::~Waiting() {
  --waiting;
}

}  // namespace stretto_torch
