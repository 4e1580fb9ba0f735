// SPDX-License-Identifier: Apache-2.0
#include "work.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include "completion.hpp"
#include "core.hpp"
#include "ending.hpp"
#include "flight_recorder.hpp"
#include "interface.hpp"
#include "job.hpp"
#include "streams.hpp"

namespace stretto_torch {
namespace {

std::atomic<bool> some_given_up{false};
std::atomic<int> works_in_flight{0};
std::atomic<Clock::time_point> last_failure{};

/// The buffers of calls that were given up. They are never destroyed.
struct KeptBuffers {
  std::mutex mutex;
  std::vector<at::Tensor> buffers;
};
KeptBuffers& kept() {
  static auto& one = *new KeptBuffers;
  return one;
}

/// The time that a thread sleeps until the completing thread has ended the work. Then it polls itself, since
/// the system may have refused a completing thread.
constexpr std::chrono::milliseconds longest_sleep{10};

/// How often a work looks within its timeout whether anything has moved. That is how exact the timeout is.
constexpr int looks = 64;

/// Polls until it is known whether the core is shared, or the call has ended. Returns whether the call has
/// ended. The thread yields the core with the default slices. With short slices (as in stretto_work_wait())
/// it would get the core back at once.
bool poll_briefly(stretto_work* call) {
  const auto until = Clock::now() + Core::least;
  do {
    if (stretto.work_test(call) != 0) return true;
    if (stretto.progress() == 0) sched_yield();
  } while (Clock::now() < until);
  return false;
}

/// A scope in which `stretto top` shows that this thread waits for a call.
class ShownWait {
 public:
  explicit ShownWait(stretto_work* call) { stretto.work_begin_wait(call); }
  ShownWait(const ShownWait&) = delete;
  ShownWait& operator=(const ShownWait&) = delete;
  ~ShownWait() { stretto.work_end_wait(); }
};

}  // namespace

void give_up(const std::vector<stretto_work*>& calls, std::vector<at::Tensor> buffers) {
  for (stretto_work* call : calls) stretto.work_free(call);
  if (!calls.empty()) some_given_up = true;
  const std::lock_guard<std::mutex> lock(kept().mutex);
  for (at::Tensor& buffer : buffers) kept().buffers.push_back(std::move(buffer));
}

void forget_given_up() {
  const std::lock_guard<std::mutex> lock(kept().mutex);
  kept().buffers.clear();
  some_given_up = false;
}

bool has_given_up() {
  return some_given_up;
}

Work::Work(int rank, Task task, std::vector<stretto_work*> calls)
    : c10d::Work(rank, task.type, task.title, std::exchange(task.inputs, {})),
      task_(std::move(task)),
      future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                       devices_of(task_.outputs))),
      calls_(std::move(calls)) {
  works_in_flight += is_receive() ? 0 : 1;
}

Work::~Work() {
  if (!calls_.empty()) give_up(calls_, std::move(task_.buffers));
  if (!has_ended() && !is_receive()) --works_in_flight;
}

int Work::in_flight() {
  return works_in_flight;
}

bool Work::has_failed_lately() {
  constexpr std::chrono::seconds lately{1};
  return last_failure.load() + lately > Clock::now();
}

bool Work::is_receive() const {
  return task_.type == c10d::OpType::RECV || task_.type == c10d::OpType::RECVANYSOURCE;
}

/// Whether nothing has moved for the timeout. Looks only now and then.
bool Work::is_overdue() {
  const auto now = Clock::now();
  if (c10d::isP2POp(task_.type) && !is_awaited_) {
    moved_ = now;
    return false;
  }
  if (now - looked_ < task_.timeout / looks) return false;
  looked_ = now;
  unsigned long long steps = 0;
  for (stretto_work* call : calls_) steps += stretto.work_steps(call);
  if (std::exchange(steps_, steps) != steps) moved_ = now;
  return now - moved_ >= task_.timeout;
}

bool Work::has_ended() {
  return c10d::Work::isCompleted();
}

bool Work::isCompleted() {
  if (const MayCallMpi may; may && !has_ended()) {
    stretto.progress();
    try_end();
  }
  if (!has_ended()) return false;
  complete_future();
  return true;
}

bool Work::try_end() {
  const MayCallMpi may;
  const std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
  if (!may || !turn.owns_lock() || has_ended()) return false;
  if (is_complete()) {
    end();
    return true;
  }
  if (!is_overdue()) return false;
  fail_overdue();
  return true;
}

bool Work::end_anyway(const std::string& why) {
  const MayCallMpi may;
  const std::lock_guard<std::mutex> turn(turn_);  // another thread holds it for long only if the work fails
  if (!may || has_ended()) return false;
  if (is_complete()) {
    end();
  } else {
    fail(task_.description + " has not ended: " + why);
  }
  return true;
}

bool Work::is_complete() const {
  return std::all_of(calls_.begin(), calls_.end(),
                     [](stretto_work* call) { return stretto.work_test(call) != 0; });
}

/// If the thread has its core to itself, it polls, which is fastest. If the thread shares the core, or did so
/// while it computed, it sleeps until the completing thread has ended the work: polling would take time from
/// computing threads that could run on the core. After the caller's own timeout, the caller may wait again.
/// After the group's timeout, the work is abandoned.
bool Work::wait(std::chrono::milliseconds timeout) {
  if (!has_ended()) wait_until_ended(timeout);
  complete_future();
  if (const std::exception_ptr error = exception()) std::rethrow_exception(error);
  return true;
}

void Work::wait_until_ended(std::chrono::milliseconds timeout) {
  thread_local Core core;
  const bool has_own = timeout != kNoTimeout && timeout != c10d::kUnsetTimeout;
  const auto came = Clock::now();
  is_awaited_ = true;
  std::optional<ShownWait> shown;
  {
    const MayCallMpi may;
    const std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
    if (may && turn.owns_lock() && !calls_.empty()) shown.emplace(calls_.front());
  }
  std::optional<Waiting> polling(std::in_place);
  Poll found = Poll::pending;
  while (!has_ended()) {
    const auto left = came + timeout - Clock::now();
    if (has_own && left < Clock::duration::zero())
      throw std::runtime_error("stretto: " + overdue(timeout, ""));
    if (found == Poll::forbidden) sleep_until_process_ends();
    if (polling && found == Poll::pending && core.is_shared()) {
      polling.reset();
      poll_at_once();
    }
    if (!polling) {
      sleep_until_ended(has_own ? std::min<Clock::duration>(left, longest_sleep) : longest_sleep);
      if (!isCompleted() && !MayCallMpi()) found = Poll::forbidden;
    } else if (found = poll(polling); found == Poll::by_another) {
      sleep_until_ended(std::chrono::microseconds(100));  // another thread may be about to end it
    }
  }
  // Python would end this thread inside C++ code, which aborts the process.
  if (!MayCallMpi()) sleep_until_process_ends();
  if (Clock::now() - came >= Core::least) core.begin();
}

Work::Poll Work::poll(std::optional<Waiting>& polling) {
  const MayCallMpi may;
  if (!may) return Poll::forbidden;
  const std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
  if (!turn.owns_lock()) return Poll::by_another;
  if (has_ended()) return Poll::pending;
  for (stretto_work* call : calls_) {
    if (stretto.work_test(call) != 0 || poll_briefly(call)) continue;
    if (!is_overdue()) return Poll::pending;
    polling.reset();
    fail_overdue();
    return Poll::ended;
  }
  polling.reset();  // completion may copy a lot
  end();
  return Poll::ended;
}

void Work::sleep_until_ended(Clock::duration longest) {
  std::unique_lock<std::mutex> lock(mutex_);
  cv_.wait_for(lock, longest, [&] { return completed_; });
}

void Work::end() {
  std::exception_ptr error;
  for (stretto_work* call : calls_) {
    if (const char* text = stretto.work_error(call)) {
      error =
          std::make_exception_ptr(std::runtime_error("stretto: " + task_.description + " failed: " + text));
    }
    source_ = stretto.work_source(call);
    stretto.work_free(call);
  }
  calls_.clear();
  if (error == nullptr && task_.finish) {
    try {
      // autograd must not see these copies, and the outputs may be inference tensors.
      const at::AutoDispatchBelowADInplaceOrView guard;
      const OnSideStreams side(future_->devices());
      task_.finish();
      // Then the result is there for all streams, as after a call without such copies.
      side.wait();
    } catch (...) {
      error = std::current_exception();
    }
  }
  // The buffers are no longer needed, even if the work is kept.
  task_.finish = nullptr;
  task_.buffers.clear();
  conclude(error);
}

/// Makes the work fail because it is overdue, with a line that says which ranks have not come. Without MPI,
/// this rank's part in the group ends, as with gloo.
void Work::fail_overdue() {
  std::array<char, 400> standing{};
  // A rank that lives answers within milliseconds. The error must not come much later than the timeout.
  constexpr double shortest = 0.01;
  constexpr double longest = 1;
  const double seconds = std::chrono::duration<double>(task_.timeout).count();
  const double for_answers = std::clamp(seconds / looks, shortest, longest);
  for (stretto_work* call : calls_) {
    if (standing[0] == 0) stretto.work_describe(call, for_answers, standing.data(), standing.size());
  }
  fail(overdue(task_.timeout, standing.data()));
}

void Work::fail(const std::string& error) {
  for (stretto_work* call : calls_) static_cast<void>(stretto.work_fail(call, error.c_str()));
  if (is_complete()) {
    for (stretto_work* call : calls_) stretto.work_free(call);
    calls_.clear();
    task_.buffers.clear();
  } else {
    give_up(std::exchange(calls_, {}), std::exchange(task_.buffers, {}));
  }
  task_.finish = nullptr;
  conclude(std::make_exception_ptr(std::runtime_error("stretto: " + error)));
}

void Work::conclude(const std::exception_ptr& error) {
  if (error != nullptr) last_failure = Clock::now();
  works_in_flight -= is_receive() ? 0 : 1;
  if (task_.recorded) flight_recorder().note_end(*task_.recorded, error == nullptr);
  finish(error);
}

std::string Work::overdue(std::chrono::milliseconds after, const std::string& standing) const {
  const auto milliseconds = std::to_string(after.count());
  return task_.description + " has not ended after a timeout of " +
         (after.count() % 1000 == 0 ? std::to_string(after.count() / 1000) + " s" : milliseconds + " ms") +
         (standing.empty() ? "; a rank has not called it, or has died" : ": " + standing);
}

void Work::complete_future() {
  if (future_is_claimed_.exchange(true)) {
    future_->wait();
  } else if (const std::exception_ptr error = exception()) {
    future_->setErrorIfNeeded(error);
  } else {
    // The future records the current streams, for which its waiters wait. In the side streams, nothing is
    // left to wait for.
    const OnSideStreams side(future_->devices());
    future_->markCompleted(c10::IValue(task_.outputs));
  }
}

int Work::sourceRank() const {
  return source_;
}

std::vector<at::Tensor> Work::result() {
  return task_.outputs;
}

c10::intrusive_ptr<c10::ivalue::Future> Work::getFuture() {
  return future_;
}

}  // namespace stretto_torch
