// SPDX-License-Identifier: Apache-2.0
#include "work.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <stdexcept>
#include <utility>

#include "completion.hpp"
#include "interface.hpp"

namespace stretto_torch {
namespace {

/// How long a thread looks before it asks whether it has the core to itself.
constexpr std::chrono::microseconds slice{200};

/// For a slice of time, or until the call has ended; whether it has. The thread yields the core with the
/// usual slices: with short ones (as stretto_work_wait() waits) it would have it back at once.
bool look_at(stretto_work* call) {
  const auto until = Clock::now() + slice;
  do {
    if (stretto.work_test(call) != 0) return true;
    if (stretto.progress() == 0) sched_yield();
  } while (Clock::now() < until);
  return false;
}

/// Of the core on which the calling thread runs.
class Core {
 public:
  /// Whether others had more than a quarter of it since the last time. A thread that waits yields it to them,
  /// but each of its looks takes some of their time and of their caches.
  bool is_shared() {
    const Clock::time_point now = Clock::now();
    const std::chrono::nanoseconds used = used_by_this_thread();
    const bool shared = used - used_ < (now - last_) * 3 / 4;
    last_ = now;
    used_ = used;
    return shared;
  }

 private:
  static std::chrono::nanoseconds used_by_this_thread() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  Clock::time_point last_ = Clock::now();
  std::chrono::nanoseconds used_ = used_by_this_thread();
};

}  // namespace

void keep_for_ever(std::vector<at::Tensor> buffers) {
  static auto& kept = *new std::vector<at::Tensor>;
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  for (at::Tensor& buffer : buffers) kept.push_back(std::move(buffer));
}

Work::Work(int rank, Task task, std::vector<stretto_work*> calls)
    : c10d::Work(rank, task.type, task.title),
      task_(std::move(task)),
      future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))),
      calls_(std::move(calls)) {}

Work::~Work() {
  if (calls_.empty()) return;
  for (stretto_work* call : calls_) stretto.work_free(call);
  keep_for_ever(std::move(task_.buffers));
}

bool Work::has_ended() {
  return c10d::Work::isCompleted();
}

bool Work::isCompleted() {
  if (has_ended()) return true;
  stretto.progress();
  if (try_end()) tell();
  return has_ended();
}

bool Work::try_end() {
  const std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
  if (!turn.owns_lock() || has_ended()) return false;
  if (std::all_of(calls_.begin(), calls_.end(),
                  [](stretto_work* call) { return stretto.work_test(call) != 0; })) {
    end();
    return true;
  }
  if (Clock::now() - began_ < task_.timeout) return false;
  fail_overdue();
  return true;
}

/// Where the core is free the thread looks by itself, which is soonest; where it is not it sleeps until the
/// completing thread has ended the work. After a timeout of its own the caller may wait once more; after that
/// of the group the work is given up.
bool Work::wait(std::chrono::milliseconds timeout) {
  const bool has_own = timeout != kNoTimeout && timeout != c10d::kUnsetTimeout;
  const auto came = Clock::now();
  std::optional<Waiting> waiting(std::in_place);
  Core core;
  while (!has_ended()) {
    if (has_own && Clock::now() - came > timeout) std::rethrow_exception(overdue(timeout, ""));
    if (!waiting) {
      std::unique_lock<std::mutex> lock(mutex_);
      cv_.wait_for(lock, std::chrono::milliseconds(10), [&] { return completed_; });
      lock.unlock();
      isCompleted();  // by itself, where the system has no thread to give
      continue;
    }
    std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
    if (!turn.owns_lock()) {
      // Whose turn it is may be about to end it.
      std::unique_lock<std::mutex> lock(mutex_);
      cv_.wait_for(lock, std::chrono::microseconds(100), [&] { return completed_; });
      continue;
    }
    if (has_ended()) break;
    const auto pending = std::find_if(calls_.begin(), calls_.end(),
                                      [](stretto_work* call) { return stretto.work_test(call) == 0; });
    if (pending == calls_.end()) {
      end();
    } else if (look_at(*pending)) {
      continue;
    } else if (Clock::now() - began_ > task_.timeout) {
      fail_overdue();
    } else {
      turn.unlock();
      if (core.is_shared()) {
        waiting.reset();
        look_at_once();
      }
      continue;
    }
    turn.unlock();
    waiting.reset();  // what is called now may wait for others
    tell();
  }
  if (const std::exception_ptr error = exception()) std::rethrow_exception(error);
  return true;
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
      // Copies are no part of what autograd knows of, and the outputs may be inference tensors.
      const at::AutoDispatchBelowADInplaceOrView guard;
      task_.finish();
    } catch (...) {
      error = std::current_exception();
    }
  }
  // Who has the work no longer needs what it worked on.
  task_.finish = nullptr;
  task_.buffers.clear();
  finish(error);
}

void Work::fail_overdue() {
  std::array<char, 400> standing{};
  for (stretto_work* call : calls_) {
    if (standing[0] == 0) stretto.work_describe(call, standing.data(), standing.size());
    stretto.work_free(call);
  }
  calls_.clear();
  keep_for_ever(std::move(task_.buffers));
  task_.buffers.clear();
  finish(overdue(task_.timeout, standing.data()));
}

std::exception_ptr Work::overdue(std::chrono::milliseconds after, const std::string& standing) const {
  const auto milliseconds = std::to_string(after.count());
  return std::make_exception_ptr(std::runtime_error(
      "stretto: " + task_.description + " has not ended after " +
      (after.count() % 1000 == 0 ? std::to_string(after.count() / 1000) + " s" : milliseconds + " ms") +
      (standing.empty() ? "; a rank has not called it, or has died" : ": " + standing)));
}

void Work::tell() {
  if (const std::exception_ptr error = exception()) {
    future_->setErrorIfNeeded(error);
  } else {
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
