// SPDX-License-Identifier: Apache-2.0
#include "interpose/progress/progress.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "interpose/handles/held_handles.hpp"
#include "interpose/session/session.hpp"
#include "mpi/mpi.hpp"
#include "progress/helper.hpp"
#include "threads/float_control.hpp"
#include "threads/immortal.hpp"
#include "threads/spin_lock.hpp"

namespace stretto {
namespace {

using Operations = std::vector<std::shared_ptr<Outstanding>>;

SpinLock list_lock;
constinit Immortal<Operations> list;
/// The lists of earlier polls. Later polls reuse their memory.
constinit Immortal<std::vector<Operations>> spare_lists;
constinit Immortal<ProgressCounts> counts;

/// The floating-point settings of the program, as of when it last started an operation or was blocked. The
/// helper thread adopts them, since the library may reduce in it.
std::atomic<FloatControl> control_of_program{};

/// Removes the operations that have ended. It destroys none: the thread that ended one still holds it.
void remove_ended() {
  const std::lock_guard guard(list_lock);
  std::erase_if(list(), [](const auto& operation) { return operation->ended(); });
  counts().set_listens(mpi.listen != nullptr && mpi.has_news());
  counts().set_outstanding(list().size());
}

/// Returns a copy of the list: an operation may end in a callback of the program that makes progress as well.
Operations copy_list() {
  const std::lock_guard guard(list_lock);
  Operations copy;
  if (!spare_lists().empty()) {
    copy = std::move(spare_lists().back());
    spare_lists().pop_back();
  }
  copy = list();
  return copy;
}

void give_back(Operations copy) noexcept {
  copy.clear();
  try {
    const std::lock_guard guard(list_lock);
    spare_lists().push_back(std::move(copy));
  } catch (const std::bad_alloc&) {
    // The next poll allocates again.
  }
}

/// Advances those outstanding operations that are `eligible` as far as possible.
template <typename Eligible>
bool make_progress_with(const Eligible& eligible) {
  if (!has_outstanding()) return false;
  Operations now;
  try {
    now = copy_list();
  } catch (const std::bad_alloc&) {
    return false;  // a thread that waits tries again: others may give memory back
  }
  bool any = false;
  bool some_ended = false;
  for (const auto& operation : now) {
    if (eligible(*operation)) any = operation->progress() || any;
    some_ended = some_ended || operation->ended();
  }
  if (some_ended) remove_ended();
  give_back(std::move(now));
  return any;
}

/// With STRETTO_PROGRESS_THREAD=1 the helper is woken for operations of this size, which take longer than
/// waking it. It leaves a shorter one alone at its first poll, since the program often waits for it at
/// once.
constexpr std::size_t least_urgent_bytes = std::size_t{512} << 10;

HelperRules::Found poll(bool must_help) {
  // It only listens, or the last operation has just ended.
  if (!has_outstanding()) {
    if (mpi.listen != nullptr) mpi.listen();
    return HelperRules::Found::not_needed;
  }
  const ScopedFloatControl program(control_of_program.load(std::memory_order_relaxed));
  bool helps = must_help;
  const bool any = make_progress_with([&](Outstanding& operation) {
    if (must_help || !session.settings.progress_thread) return true;
    const bool was_polled = operation.was_polled_by_helper();
    const bool is_eligible = was_polled || operation.bytes() >= least_urgent_bytes;
    helps = helps || is_eligible;
    return is_eligible;
  });
  if (any) return HelperRules::Found::something;
  return helps ? HelperRules::Found::nothing : HelperRules::Found::not_needed;
}

Helper& helper() {
  static auto& one = *new Helper(counts(), poll);
  return one;
}

void notice(std::size_t bytes) {
  if (!session.non_blocking) return;
  control_of_program.store(FloatControl::current(), std::memory_order_relaxed);
  helper().notice(session.settings.progress_thread && bytes >= least_urgent_bytes);
}

}  // namespace

bool start_helper() {
  try {
    helper().start();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void stop_helper() {
  helper().stop();
  counts().set_listens(false);
}

void add_outstanding(std::shared_ptr<Outstanding> operation) {
  const std::size_t bytes = operation->bytes();
  {
    const std::lock_guard guard(list_lock);
    list().push_back(std::move(operation));
    counts().set_outstanding(list().size());
  }
  notice(bytes);
}

void look_at_outstanding(const std::function<void(Watched&)>& look) {
  const std::lock_guard guard(list_lock);
  for (const auto& operation : list()) {
    Watched* call = operation->watched();
    if (call != nullptr && !operation->ended()) look(*call);
  }
}

bool has_outstanding() {
  return counts().any_outstanding();
}

bool make_progress() {
  const bool any = make_progress_with([](const Outstanding& /*operation*/) { return true; });
  free_left_handles();
  return any;
}

bool make_progress_in_place_of_helper() {
  counts().note_stand_in();
  return make_progress() || make_progress();
}

bool make_progress_for(Outstanding& awaited) {
  if (counts().outstanding() > 1) return make_progress();
  const bool any = awaited.progress();
  if (awaited.ended()) remove_ended();
  free_left_handles();
  return any;
}

void drain_outstanding() {
  wait_until([] { return !has_outstanding(); });
  stop_helper();
}

void guard_program_functions() {
  if (!session.non_blocking || session.settings.progress_thread || counts().is_guarded()) return;
  counts().guard();
  helper().wait_for_end_of_poll();
}

PollingScope::PollingScope() {
  counts().begin_polling();
}

PollingScope::~PollingScope() {
  counts().end_polling();
}

BlockedScope::BlockedScope() : is_counted_(session.non_blocking && counts().must_count_blocked()) {
  if (!is_counted_) return;
  control_of_program.store(FloatControl::current(), std::memory_order_relaxed);
  counts().begin_blocked();
  if (!has_outstanding()) return;
  if (helper().is_running()) {
    helper().call();
  } else {
    wait_until([] { return !has_outstanding(); });
  }
}

BlockedScope::~BlockedScope() {
  if (is_counted_) counts().end_blocked();
}

}  // namespace stretto
