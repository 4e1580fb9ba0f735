// SPDX-License-Identifier: Apache-2.0
#include "interpose/progress.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "interpose/helper_thread.hpp"
#include "interpose/session.hpp"

namespace stretto {
namespace {

using namespace std::chrono_literals;

std::mutex list_mutex;
std::vector<std::shared_ptr<Operation>>& list() {
  static auto& all =
      *new std::vector<std::shared_ptr<Operation>>;  // never destroyed: the helper may outlive it
  return all;
}
std::atomic<std::size_t> outstanding{0};
std::atomic<int> waiting_here{0};
std::atomic<int> waiting_elsewhere{0};

void remove_ended() {
  std::vector<std::shared_ptr<Operation>> ended;  // what they hold is given back when the lock is gone
  const std::lock_guard lock(list_mutex);
  const auto first =
      std::partition(list().begin(), list().end(), [](const auto& operation) { return !operation->ended(); });
  ended.assign(std::make_move_iterator(first), std::make_move_iterator(list().end()));
  list().erase(first, list().end());
  outstanding -= ended.size();
}

/// Takes those outstanding operations that are `eligible` as far as they get.
template <typename Eligible>
bool make_progress_with(const Eligible& eligible) {
  if (!has_outstanding()) return false;
  // Taken out, as an operation may end in a callback of the program that makes progress as well.
  thread_local std::vector<std::shared_ptr<Operation>> memory;
  std::vector<std::shared_ptr<Operation>> now = std::exchange(memory, {});
  {
    const std::lock_guard lock(list_mutex);
    now = list();
  }
  bool any = false;
  bool some_ended = false;
  for (const auto& operation : now) {
    if (eligible(*operation)) any = operation->progress() || any;
    some_ended = some_ended || operation->ended();
  }
  if (some_ended) remove_ended();
  now.clear();
  memory = std::move(now);
  return any;
}

/// The thread that makes progress where no thread of the program does.
class Helper {
 public:
  /// An operation has been started.
  void notice() {
    if (!session.non_blocking || (is_awake_ && !session.settings.progress_thread)) return;
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) {
      stopping_ = false;
      try {
        thread_ = start_helper_thread("stretto", [this] { run(); });
        is_awake_ = true;
      } catch (const std::system_error& error) {
        complain_once_on_rank_0(std::string("no helper thread: ") + error.what());
      }
    } else {
      call(lock);
    }
  }

  /// A thread waits where nobody makes progress.
  void call() {
    std::unique_lock lock(mutex_);
    call(lock);
  }

  void stop() {
    {
      std::unique_lock lock(mutex_);
      if (!thread_.joinable()) return;
      stopping_ = true;
      call(lock);
    }
    thread_.join();
    thread_ = {};
  }

 private:
  /// How often it looks after operations while it is not called: a thread may wait where we don't know of it.
  static constexpr auto tick = 1ms;
  /// So many ticks after the last operation it sleeps until it is called, which costs the caller 5 µs.
  static constexpr int ticks_until_dormant = 100;
  /// Between fruitless looks, when it is called: from the first to the last, twice as long each.
  static constexpr std::chrono::microseconds shortest_nap = 20us;
  static constexpr std::chrono::microseconds longest_nap = 200us;

  void call(std::unique_lock<std::mutex>& lock) {
    called_ = true;
    lock.unlock();
    wake_up_.notify_one();
  }

  void run() {
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // ns; the usual 50 µs is longer than a nap
    std::chrono::microseconds nap = shortest_nap;
    int idle_ticks = 0;
    while (!stopping_) {
      idle_ticks = has_outstanding() ? 0 : idle_ticks + 1;
      if (idle_ticks == 0 && waiting_here == 0) {
        if (help()) {
          nap = shortest_nap;
          continue;
        }
        if (session.settings.progress_thread || waiting_elsewhere > 0) {
          std::this_thread::sleep_for(nap);
          nap = std::min(2 * nap, longest_nap);
          continue;
        }
      }
      sleep(idle_ticks);
    }
  }

  /// While no thread of the program is known to be in MPI, its functions must not be called.
  static bool help() {
    const bool may_call_program = session.program_has_threads || waiting_elsewhere > 0;
    return make_progress_with(
        [&](const Operation& operation) { return may_call_program || !operation.calls_program(); });
  }

  void sleep(int idle_ticks) {
    std::unique_lock lock(mutex_);
    const auto is_called = [&] { return called_; };
    if (idle_ticks < ticks_until_dormant) {
      wake_up_.wait_for(lock, tick, is_called);
    } else {
      // Whoever starts an operation after this looks finds it asleep, and calls it.
      is_awake_ = false;
      if (!has_outstanding()) wake_up_.wait(lock, is_called);
      is_awake_ = true;
    }
    called_ = false;
  }

  std::mutex mutex_;
  std::condition_variable wake_up_;
  std::thread thread_;
  bool called_ = false;
  std::atomic<bool> is_awake_{false};
  std::atomic<bool> stopping_{false};
};

Helper& helper() {
  static auto* one = new Helper;  // never destroyed: the thread may outlive static objects
  return *one;
}

}  // namespace

void add_outstanding(std::shared_ptr<Operation> operation) {
  {
    const std::lock_guard lock(list_mutex);
    list().push_back(std::move(operation));
    ++outstanding;
  }
  helper().notice();
}

bool has_outstanding() {
  return outstanding > 0;
}

bool make_progress() {
  return make_progress_with([](const Operation&) { return true; });
}

bool make_progress_for(Operation& awaited) {
  if (outstanding > 1) return make_progress();
  const bool any = awaited.progress();
  if (awaited.ended()) remove_ended();
  return any;
}

void drain_outstanding() {
  wait_until([] { return !has_outstanding(); });
  helper().stop();
}

WaitingHere::WaitingHere() {
  waiting_here.fetch_add(1, std::memory_order_relaxed);
}

WaitingHere::~WaitingHere() {
  waiting_here.fetch_sub(1, std::memory_order_relaxed);
}

WaitingElsewhere::WaitingElsewhere() : helped_(has_outstanding()) {
  if (!helped_) return;
  waiting_elsewhere.fetch_add(1, std::memory_order_relaxed);
  helper().call();
}

WaitingElsewhere::~WaitingElsewhere() {
  if (helped_) waiting_elsewhere.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace stretto
