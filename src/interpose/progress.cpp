// SPDX-License-Identifier: Apache-2.0
#include "interpose/progress.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "engine/immortal.hpp"
#include "interpose/helper_thread.hpp"
#include "interpose/session.hpp"

namespace stretto {
namespace {

using namespace std::chrono_literals;

SpinLock list_lock;
std::vector<std::shared_ptr<Operation>>& list() {
  static auto& all = make_immortal<std::vector<std::shared_ptr<Operation>>>();
  return all;
}
std::atomic<std::size_t> outstanding{0};  // changed under the lock
std::atomic<int> waiting_here{0};
std::atomic<int> waiting_elsewhere{0};
std::atomic<unsigned> looks_in_place_of_helper{0};

/// None is destroyed by this: the thread under which one ended still has it when it comes here.
void remove_ended() {
  const std::lock_guard guard(list_lock);
  std::erase_if(list(), [](const auto& operation) { return operation->ended(); });
  outstanding.store(list().size(), std::memory_order_relaxed);
}

/// What a look needs, kept from look to look. In exit() the main thread's is gone before static objects and
/// handlers, which may still call MPI.
thread_local bool has_no_memory = false;
struct Memory {
  std::vector<std::shared_ptr<Operation>> operations;
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { has_no_memory = true; }
};
thread_local Memory memory;

/// Takes those outstanding operations that are `eligible` as far as they get.
template <typename Eligible>
bool make_progress_with(const Eligible& eligible) {
  if (!has_outstanding()) return false;
  // Taken out, as an operation may end in a callback of the program that makes progress as well.
  std::vector<std::shared_ptr<Operation>> now;
  if (!has_no_memory) now = std::exchange(memory.operations, {});
  {
    const std::lock_guard guard(list_lock);
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
  if (!has_no_memory) memory.operations = std::move(now);
  return any;
}

/// The thread that makes progress where no thread of the program does.
class Helper {
 public:
  /// An operation has been started.
  void notice(std::size_t bytes) {
    if (!session.non_blocking) return;
    const bool at_once = session.settings.progress_thread && bytes >= least_urgent_bytes;
    if (is_awake_ && !at_once) return;
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
  /// Between looks at operations that it takes further. It comes closer to the time between two messages by
  /// what it finds; a shorter one costs a computation that shares the core more than it hides.
  static constexpr std::chrono::microseconds shortest_nap = 20us;
  static constexpr std::chrono::microseconds longest_nap = 200us;
  /// How often it looks whether a thread waits where we don't know of it.
  static constexpr std::chrono::microseconds tick = 1ms;
  /// How often it looks whether the thread that makes progress in its place still does.
  static constexpr std::chrono::microseconds replaced_tick = 10ms;
  /// So many ticks after the last operation it sleeps until it is called, which costs the caller some 5 µs.
  static constexpr int ticks_until_dormant = 3;
  /// With STRETTO_PROGRESS_THREAD=1 it is called for operations of this size, which take longer than to be
  /// called does. A shorter one is left alone at the first look: it is often waited for at once.
  static constexpr std::size_t least_urgent_bytes = std::size_t{512} << 10;

  enum class Look : std::uint8_t { needless, fruitless, fruitful };

  void call(std::unique_lock<std::mutex>& lock) {
    called_ = true;
    lock.unlock();
    wake_up_.notify_one();
  }

  void run() {
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // ns; the usual 50 µs is longer than a nap
    std::chrono::microseconds nap = shortest_nap;
    int idle_ticks = 0;
    unsigned replacing_looks = looks_in_place_of_helper;
    while (!stopping_) {
      idle_ticks = has_outstanding() ? 0 : idle_ticks + 1;
      const unsigned before = std::exchange(replacing_looks, looks_in_place_of_helper);
      if (replacing_looks != before && waiting_elsewhere == 0) {
        sleep(replaced_tick);
        continue;
      }
      const Look found = idle_ticks > 0 || waiting_here > 0 ? Look::needless : look();
      if (found == Look::fruitful) {
        nap = std::max(nap / 4, shortest_nap);
      } else if (idle_ticks >= ticks_until_dormant) {
        sleep_until_called();
      } else if (sleep(found == Look::fruitless ? nap : tick)) {
        nap = shortest_nap;
      } else if (found == Look::fruitless) {
        nap = std::min(2 * nap, longest_nap);
      }
    }
  }

  static Look look() {
    const bool must_help = waiting_elsewhere > 0;
    bool helps = must_help;
    const bool any = make_progress_with([&](Operation& operation) {
      if (must_help) return true;
      // While no thread of the program is known to be in MPI, its functions must not be called.
      if (operation.calls_program() && !session.program_has_threads) return false;
      const bool was_seen = operation.has_been_seen();
      const bool is_eligible =
          !session.settings.progress_thread || was_seen || operation.bytes() >= least_urgent_bytes;
      helps = helps || (is_eligible && session.settings.progress_thread);
      return is_eligible;
    });
    if (any) return Look::fruitful;
    return helps ? Look::fruitless : Look::needless;
  }

  /// Whether it was called meanwhile.
  bool sleep(std::chrono::microseconds time) {
    std::unique_lock lock(mutex_);
    wake_up_.wait_for(lock, time, [&] { return called_; });
    return std::exchange(called_, false);
  }

  void sleep_until_called() {
    std::unique_lock lock(mutex_);
    // Whoever starts an operation after this looks finds it asleep, and calls it.
    is_awake_ = false;
    if (!has_outstanding()) wake_up_.wait(lock, [&] { return called_; });
    is_awake_ = true;
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
  static auto& one = make_immortal<Helper>();
  return one;
}

}  // namespace

void add_outstanding(std::shared_ptr<Operation> operation) {
  const std::size_t bytes = operation->bytes();
  {
    const std::lock_guard guard(list_lock);
    list().push_back(std::move(operation));
    outstanding = list().size();
  }
  helper().notice(bytes);
}

bool has_outstanding() {
  return outstanding > 0;
}

bool make_progress() {
  return make_progress_with([](const Operation& /*operation*/) { return true; });
}

bool make_progress_in_place_of_helper() {
  looks_in_place_of_helper.fetch_add(1, std::memory_order_relaxed);
  return make_progress() || make_progress();
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
