// SPDX-License-Identifier: Apache-2.0
#include "work.hpp"

#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "completion.hpp"
#include "interface.hpp"

namespace stretto_torch {
namespace {

/// MPI may still write to what was given up.
void keep_for_ever(std::vector<at::Tensor> buffers) {
  static auto& kept = *new std::vector<at::Tensor>;
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  for (at::Tensor& buffer : buffers) kept.push_back(std::move(buffer));
}

/// How long a thread makes progress before it looks at its clock again.
constexpr double slice_seconds = 0.01;

}  // namespace

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

bool Work::has_completed() {
  return c10d::Work::isCompleted();
}

bool Work::isCompleted() {
  if (has_completed()) return true;
  stretto.progress();
  return look();
}

bool Work::look() {
  std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
  if (!turn.owns_lock() || has_completed()) return has_completed();
  if (std::all_of(calls_.begin(), calls_.end(),
                  [](stretto_work* call) { return stretto.work_test(call) != 0; })) {
    end(std::move(turn));
    return true;
  }
  if (Clock::now() - began_ < task_.timeout) return false;
  fail_overdue(std::move(turn), task_.timeout);
  return true;
}

bool Work::wait(std::chrono::milliseconds timeout) {
  const auto limit = timeout == kNoTimeout || timeout == c10d::kUnsetTimeout ? task_.timeout : timeout;
  const Waiting waiting;
  while (!has_completed()) {
    std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
    if (!turn.owns_lock()) {
      // Whose turn it is may be about to end it.
      std::unique_lock<std::mutex> lock(mutex_);
      cv_.wait_for(lock, std::chrono::microseconds(100), [&] { return completed_; });
      continue;
    }
    if (has_completed()) break;
    const auto pending = std::find_if(calls_.begin(), calls_.end(),
                                      [](stretto_work* call) { return stretto.work_test(call) == 0; });
    if (pending == calls_.end()) {
      end(std::move(turn));
    } else if (stretto.work_wait(*pending, slice_seconds) == 0 && Clock::now() - began_ > limit) {
      fail_overdue(std::move(turn), limit);
    }
  }
  if (const std::exception_ptr error = exception()) std::rethrow_exception(error);
  return true;
}

void Work::end(std::unique_lock<std::mutex> turn) {
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
  c10d::Work::finish(error);
  turn.unlock();
  tell(error);
}

void Work::fail_overdue(std::unique_lock<std::mutex> turn, std::chrono::milliseconds after) {
  std::array<char, 400> standing{};
  for (stretto_work* call : calls_) {
    if (standing[0] == 0) stretto.work_describe(call, standing.data(), standing.size());
    stretto.work_free(call);
  }
  calls_.clear();
  keep_for_ever(std::move(task_.buffers));
  task_.buffers.clear();
  const auto milliseconds = std::to_string(after.count());
  const auto error = std::make_exception_ptr(std::runtime_error(
      "stretto: " + task_.description + " has not ended after " +
      (after.count() % 1000 == 0 ? std::to_string(after.count() / 1000) + " s" : milliseconds + " ms") +
      (standing[0] == 0 ? "; a rank has not called it, or has died" : ": " + std::string(standing.data()))));
  c10d::Work::finish(error);
  turn.unlock();
  tell(error);
}

/// No lock is held: who hears of it may start and wait for other works.
void Work::tell(std::exception_ptr error) {
  if (error != nullptr) {
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
