// SPDX-License-Identifier: Apache-2.0
#include "interpose/watchdog.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>

#include "engine/immortal.hpp"
#include "interpose/clock.hpp"
#include "interpose/session.hpp"
#include "progress/thread.hpp"

namespace stretto {
namespace {

struct Entry {
  double since = 0;
  bool is_told = false;
};

auto& mutex = make_immortal<std::mutex>();
auto& wake_up = make_immortal<std::condition_variable>();
auto& thread = make_immortal<HelperThread>();
bool stopping = false;
std::map<Watched*, Entry>& calls() {
  static auto& all = make_immortal<std::map<Watched*, Entry>>();
  return all;
}

bool is_on() {
  return session.settings.watchdog_seconds > 0;
}

void look() {
  const double limit = session.settings.watchdog_seconds;
  for (auto& [call, entry] : calls()) {
    const double waited = seconds_now() - entry.since;
    std::string text;
    if (entry.is_told || waited < limit || !call->try_describe(text)) continue;
    entry.is_told = true;
    std::array<char, 32> seconds{};
    std::snprintf(seconds.data(), seconds.size(), "%.1f", waited);
    complain("rank " + std::to_string(session.world_rank) + " after " + seconds.data() + " s: " + text);
  }
}

void run() {
  // A look may come while another thread is at the call; the next one may not.
  const auto tick =
      std::chrono::duration<double>(std::clamp(session.settings.watchdog_seconds / 8, 1e-3, 0.2));
  std::unique_lock lock(mutex);
  while (!wake_up.wait_for(lock, tick, [] { return stopping; })) look();
}

}  // namespace

void watch(Watched& call) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex);
  calls()[&call] = {.since = seconds_now()};
}

void unwatch(Watched& call) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex);
  calls().erase(&call);
}

void begin_watchdog() {
  if (!is_on()) return;
  stopping = false;
  thread.start("stretto-watch", run);
}

void end_watchdog() {
  if (!thread.is_running()) return;
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  wake_up.notify_one();
  thread.join();
}

}  // namespace stretto
