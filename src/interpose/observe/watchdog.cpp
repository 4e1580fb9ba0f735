// SPDX-License-Identifier: Apache-2.0
#include "interpose/observe/watchdog.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "interpose/communicators/communicator.hpp"
#include "interpose/observe/roll_call.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "learn/steps/usual_steps.hpp"
#include "threads/clock.hpp"
#include "threads/helper_thread.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

/// A call of the program that has not ended. A persistent call is another one after each start.
struct Seen {
  CallId id;
  std::uint64_t starts = 0;

  friend bool operator<(const Seen& left, const Seen& right) {
    return std::tie(left.id, left.starts) < std::tie(right.id, right.starts);
  }
};

struct Entry {
  double since = 0;
  double asked_at = 0;  // 0: no rank was asked yet
  bool is_reported = false;
  std::string absent;  // who had not called it then, for an error
};

/// The calls of a communicator that this rank has started.
struct Begun {
  std::uint64_t calls = 0;
  double last_at = 0;
  double seen_at = 0;  // the communicator itself
  UsualSteps steps;
};

/// A thread of the program wants to know who is absent from a call.
struct Wish {
  const std::vector<int>* ranks = nullptr;
  double until = 0;
  bool is_asked = false;
  std::optional<std::string> answer;
};

constinit HelperThread thread;
constinit Immortal<RollCall> roll_call;

// Of the watchdog's thread:
constinit Immortal<std::map<Seen, Entry>> entries;
constinit Immortal<std::map<CommunicatorId, Begun>> begun;

// Of all threads, with the lock held:
std::mutex mutex;
bool stopping = false;
constinit Immortal<std::set<Watched*>> blocking_calls;
constinit Immortal<std::map<CallId, Wish>> wishes;
constinit Immortal<std::condition_variable> answered;

/// All ranks of a communicator ask all others. On communicators larger than this, only a few ranks ask.
constexpr std::size_t most_asking_ranks = 1024;
constexpr int always_asking_ranks = 4;

/// If more communicators are known, those that were freed are forgotten.
constexpr std::size_t most_begun = 1024;

/// Whether the user has not asked for reports. Then one rank speaks for all that wait in a call.
bool is_unasked() {
  return session.settings.watchdog == Watchdog::where_free;
}

bool is_on() {
  if (is_unasked()) return !mpi.has_library() && session.topology.ranks() > 1;
  return session.settings.watchdog != Watchdog::off;
}

/// The least seconds until such a report: most ranks that come this late for once are not stuck.
constexpr double least_unasked = 5;

Seen seen_of(const Watched& call) {
  return {.id = {call.communicator().id(), call.number()}, .starts = call.starts()};
}

/// Shows all calls of the program that have not ended.
template <typename Look>
void look_at_calls(const Look& look) {
  look_at_outstanding(look);
  const std::lock_guard lock(mutex);
  for (Watched* call : blocking_calls()) look(*call);
}

/// Notes how many calls the program has started on each communicator.
void count_calls() {
  const double now = seconds_now();
  look_at_communicators([&](const Communicator& state) {
    const std::uint64_t calls = state.sequence();
    if (calls == 0 || state.native_only()) return;
    Begun& there = begun()[state.id()];
    there.seen_at = now;
    if (calls <= there.calls) return;
    if (there.calls > 0) there.steps.add(now - there.last_at, calls - there.calls);
    there.calls = calls;
    there.last_at = now;
  });
  // Others may still ask about a communicator that was freed here.
  if (begun().size() > most_begun)
    std::erase_if(begun(), [&](const auto& one) { return one.second.seen_at < now; });
}

/// Notes the calls that have not ended.
void note_calls() {
  std::vector<Seen> in_flight;
  look_at_calls([&](const Watched& call) { in_flight.push_back(seen_of(call)); });
  const double now = seconds_now();
  std::map<Seen, Entry> all;
  for (const Seen& seen : in_flight) {
    const auto known = entries().find(seen);
    all.try_emplace(seen, known == entries().end() ? Entry{.since = now, .absent = {}} : known->second);
  }
  entries() = std::move(all);
}

/// Notes what there is to know of this rank's calls now.
void look() {
  count_calls();
  note_calls();
}

/// Calls act(call, id, entry) for those calls that have not ended and fulfil is(id, entry).
template <typename Is, typename Act>
void look_at_calls_that(const Is& is, const Act& act) {
  if (std::ranges::none_of(entries(), [&](const auto& one) { return is(one.first.id, one.second); })) return;
  look_at_calls([&](Watched& call) {
    const auto found = entries().find(seen_of(call));
    if (found != entries().end() && is(found->first.id, found->second))
      act(call, found->first.id, found->second);
  });
}

/// Returns the seconds after which a call takes too long for the program's steps; nothing while too few are
/// known.
std::optional<double> usual_limit(const CommunicatorId& communicator) {
  const auto found = begun().find(communicator);
  return found == begun().end() ? std::nullopt : found->second.steps.limit();
}

/// Returns the seconds after which a call is overdue.
double limit_of(const CommunicatorId& communicator) {
  const double given = session.settings.watchdog_seconds;
  if (!session.settings.watchdog_adapts) return given;
  const double usual = usual_limit(communicator).value_or(given);
  return is_unasked() ? std::max(usual, least_unasked) : usual;
}

bool is_overdue(const CallId& id, const Entry& entry) {
  return !entry.is_reported && seconds_now() - entry.since >= limit_of(id.communicator);
}

/// Returns the seconds that a rank may take to answer.
double answer_timeout(const CommunicatorId& communicator) {
  return std::clamp(limit_of(communicator) / 4, 0.2, 2.0);
}

/// Whether this rank asks the others of a communicator.
bool may_ask(const Communicator& state) {
  if (state.native_only()) return false;
  return state.ranks_in_world().size() <= most_asking_ranks || state.rank() < always_asking_ranks;
}

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", seconds);
  return text.data();
}

/// Returns the report of a call that is overdue; nothing if another rank reports it, or if the call cannot be
/// described now, because a thread is just advancing it.
std::optional<std::string> report_of(Watched& call, const CallId& id, Entry& entry) {
  std::string text;
  if (!call.try_describe(text)) return std::nullopt;
  entry.is_reported = true;
  const bool is_asked = entry.asked_at > 0;
  const RollCall::Attendance others = is_asked ? roll_call().conclude(id) : RollCall::Attendance{};
  const std::string after = seconds_text(seconds_now() - entry.since);
  if (!others.text.empty()) entry.absent = "; asked after " + after + ": " + others.text;
  if (is_unasked() && (!is_asked || others.another_waits_first)) return std::nullopt;
  return this_rank() + " after " + after + ": " + text +
         (others.text.empty() ? "" : " (" + others.text + ")");
}

/// Whether the ranks that were asked about a call may still answer.
bool awaits_answers(const CallId& id, const Entry& entry) {
  return !roll_call().all_have_answered(id) &&
         seconds_now() - entry.asked_at < answer_timeout(id.communicator);
}

/// Asks the other ranks about calls that are overdue, and reports them once the answers are there.
void look_at_overdue() {
  std::map<CallId, std::vector<int>> questions;
  std::vector<std::string> reports;
  look_at_calls_that(is_overdue, [&](Watched& call, const CallId& id, Entry& entry) {
    if (may_ask(call.communicator()) && (entry.asked_at == 0 || awaits_answers(id, entry))) {
      if (entry.asked_at == 0) entry.asked_at = seconds_now();
      questions.try_emplace(id, call.communicator().ranks_in_world());
    } else if (auto text = report_of(call, id, entry)) {
      reports.push_back(*std::move(text));
    }
  });
  // Writing, and resolving an address, may take long. The program's calls must not wait for it.
  for (const std::string& text : reports) complain(text);
  for (const auto& [call, ranks] : questions) roll_call().ask(call, ranks);
}

/// Ends calls of groups that wait for a rank for so long that the others should go on without it
/// (STRETTO_TIMEOUT=auto).
void end_stuck_calls() {
  constexpr double least = 10;
  constexpr double limits = 5;
  struct Stuck {
    std::shared_ptr<const Communicator> communicator;
    std::uint64_t number;
    std::string reason;
  };
  const double now = seconds_now();
  const auto is_stuck = [&](const CallId& id, const Entry& entry) {
    const auto limit = usual_limit(id.communicator);
    return entry.is_reported && limit && now - entry.since >= std::max(least, limits * *limit);
  };
  std::vector<Stuck> stuck;
  look_at_calls_that(is_stuck, [&](const Watched& call, const CallId& id, const Entry& entry) {
    stuck.push_back({call.communicator().shared_from_this(), id.number,
                     "it takes " + seconds_text(now - entry.since) +
                         ", far longer than the steps before it (STRETTO_TIMEOUT=auto)" + entry.absent});
  });
  // Other ranks are told, which takes longer than the program's calls may wait.
  for (const Stuck& one : stuck) one.communicator->end_from(one.number, one.reason);
}

void look_at_wishes() {
  std::map<CallId, std::vector<int>> questions;
  {
    const std::lock_guard lock(mutex);
    for (auto& [call, wish] : wishes()) {
      if (wish.answer) continue;
      if (wish.is_asked && (roll_call().all_have_answered(call) || seconds_now() >= wish.until)) {
        wish.answer = roll_call().conclude(call).text;
      } else if (!std::exchange(wish.is_asked, true)) {
        questions.try_emplace(call, *wish.ranks);
      }
    }
  }
  answered().notify_all();
  for (const auto& [call, ranks] : questions) roll_call().ask(call, ranks);
}

bool some_wish() {
  const std::lock_guard lock(mutex);
  return !wishes().empty();
}

RollCall::Standing standing_in(const CallId& call) {
  look();
  RollCall::Standing standing;
  if (const auto found = begun().find(call.communicator); found != begun().end())
    standing = {.calls = found->second.calls, .idle = seconds_now() - found->second.last_at};
  for (const auto& [seen, entry] : entries()) {
    if (seen.id.communicator != call.communicator) continue;
    // A call that waits for its communicator is not counted yet.
    standing.calls = std::max(standing.calls, seen.id.number + 1);
    if (seen.id.number == call.number) standing.is_in_it = 1;
  }
  return standing;
}

void run() {
  constexpr double for_answers = 5e-3;
  const double tick = std::clamp(session.settings.watchdog_seconds / 8, 1e-3, 0.2);
  for (;;) {
    roll_call().serve(some_wish() ? std::min(tick, for_answers) : tick, standing_in);
    {
      const std::lock_guard lock(mutex);
      if (stopping) return;
    }
    look();
    look_at_overdue();
    if (session.settings.timeout_adapts && !mpi.has_library()) end_stuck_calls();
    look_at_wishes();
  }
}

}  // namespace

void watch(Watched& call) {
  if (session.settings.watchdog != Watchdog::all_calls) return;
  const std::lock_guard lock(mutex);
  blocking_calls().insert(&call);
}

void unwatch(Watched& call) {
  if (session.settings.watchdog != Watchdog::all_calls) return;
  const std::lock_guard lock(mutex);
  blocking_calls().erase(&call);
}

std::string find_absent(const Watched& call, double seconds) {
  if (!thread.is_running() || !may_ask(call.communicator())) return {};
  const CallId id = seen_of(call).id;
  std::unique_lock lock(mutex);
  const auto [place, is_new] = wishes().try_emplace(id);
  if (!is_new) return {};  // another thread asks
  place->second.ranks = &call.communicator().ranks_in_world();
  place->second.until = seconds_now() + seconds;
  roll_call().wake();
  const auto most = std::chrono::duration<double>(2 * seconds);  // the thread may get no core
  answered().wait_for(lock, most, [&] { return place->second.answer.has_value(); });
  const std::string answer = place->second.answer.value_or("");
  wishes().erase(place);
  return answer;
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
  entries().clear();
  begun().clear();
}

}  // namespace stretto
