// SPDX-License-Identifier: Apache-2.0
#include "interpose/observe/watchdog.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "interpose/communicators/communicator.hpp"
#include "interpose/observe/roll_call.hpp"
#include "interpose/session/session.hpp"
#include "learn/steps/usual_steps.hpp"
#include "threads/clock.hpp"
#include "threads/helper_thread.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

struct Entry {
  CallId id;
  double since = 0;
  double asked_at = 0;  // 0: no rank was asked yet
  bool is_reported = false;
};

std::mutex mutex;
constinit HelperThread thread;
constinit Immortal<RollCall> roll_call;
bool stopping = false;
constinit Immortal<std::map<Watched*, Entry>> calls;
/// The calls of a communicator that this rank has started.
struct Begun {
  std::uint64_t calls = 0;
  double last_at = 0;
  UsualSteps steps;
};
constinit Immortal<std::map<CommunicatorId, Begun>> begun;

/// All ranks of a communicator ask all others. On communicators larger than this, only a few ranks ask.
constexpr std::size_t most_asking_ranks = 1024;
constexpr int always_asking_ranks = 4;

bool is_on() {
  return session.settings.watchdog_seconds > 0;
}

/// Returns the seconds after which a call is overdue. Only the watchdog's thread asks for it: calls that end
/// in time need not know.
double limit_of(const Entry& entry) {
  const double given = session.settings.watchdog_seconds;
  const auto found = begun().find(entry.id.communicator);
  if (!session.settings.watchdog_adapts || found == begun().end()) return given;
  return found->second.steps.limit().value_or(given);
}

bool is_overdue(const Entry& entry) {
  return !entry.is_reported && seconds_now() - entry.since >= limit_of(entry);
}

/// Returns the seconds that a rank may take to answer.
double answer_timeout(const Entry& entry) {
  return std::clamp(limit_of(entry) / 4, 0.2, 2.0);
}

void ask() {
  std::map<CallId, std::vector<int>> questions;
  {
    const std::lock_guard lock(mutex);
    for (auto& [call, entry] : calls()) {
      const Communicator& state = call->communicator();
      if (!is_overdue(entry) || state.native_only()) continue;
      if (state.ranks_in_world().size() > most_asking_ranks && state.rank() >= always_asking_ranks) continue;
      if (entry.asked_at == 0) entry.asked_at = seconds_now();
      questions.try_emplace(entry.id, state.ranks_in_world());
    }
  }
  // Resolving an address may take long, and the program's calls must not wait for it.
  for (const auto& [call, ranks] : questions) roll_call().ask(call, ranks);
}

void report_overdue() {
  const std::lock_guard lock(mutex);
  for (auto& [call, entry] : calls()) {
    if (!is_overdue(entry)) continue;
    const bool is_asked = entry.asked_at > 0;
    if (is_asked && !roll_call().all_have_answered(entry.id) &&
        seconds_now() - entry.asked_at < answer_timeout(entry)) {
      continue;
    }
    // If another thread is just advancing the call, the next round reports it.
    std::string text;
    if (!call->try_describe(text)) continue;
    entry.is_reported = true;
    const std::string others = is_asked ? roll_call().conclude(entry.id) : "";
    std::array<char, 32> seconds{};
    std::snprintf(seconds.data(), seconds.size(), "%.1f", seconds_now() - entry.since);
    complain(this_rank() + " after " + seconds.data() + " s: " + text +
             (others.empty() ? "" : " (" + others + ")"));
  }
}

RollCall::Standing standing_in(const CommunicatorId& communicator) {
  const std::lock_guard lock(mutex);
  const auto found = begun().find(communicator);
  if (found == begun().end()) return {};
  return {.calls = found->second.calls, .idle = seconds_now() - found->second.last_at};
}

void run() {
  const double tick = std::clamp(session.settings.watchdog_seconds / 8, 1e-3, 0.2);
  for (;;) {
    roll_call().serve(tick, standing_in);
    {
      const std::lock_guard lock(mutex);
      if (stopping) return;
    }
    ask();
    report_overdue();
  }
}

}  // namespace

void watch(Watched& call) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex);
  const Communicator& state = call.communicator();
  const CallId id{state.id(), call.number()};
  const double now = seconds_now();
  calls()[&call] = {.id = id, .since = now};
  if (state.native_only()) return;
  Begun& there = begun()[id.communicator];
  if (id.number >= there.calls) {
    if (there.calls > 0) there.steps.add(now - there.last_at);
    there.calls = id.number + 1;
    there.last_at = now;
  }
}

void unwatch(Watched& call) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex);
  calls().erase(&call);
}

void begin_watchdog() {
  if (!is_on()) return;
  stopping = false;
  roll_call().open();
  try {
    thread.start("stretto-watch", run);
  } catch (const std::system_error& error) {
    roll_call().close();
    complain(this_rank() + ": STRETTO_WATCHDOG: its thread cannot start (" + error.what() +
             "); no call of this rank is watched");
  }
}

void end_watchdog() {
  if (!thread.is_running()) return;
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  roll_call().wake();
  thread.join();
  roll_call().close();
}

}  // namespace stretto
