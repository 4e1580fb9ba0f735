// SPDX-License-Identifier: Apache-2.0
#include "progress/helper.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <optional>
#include <utility>

namespace stretto {

void Helper::start() {
  if (thread_.is_running()) return;
  is_stopping_ = false;
  is_awake_ = true;
  try {
    thread_.start("stretto", [this] { run(); });
  } catch (...) {
    is_awake_ = false;
    throw;
  }
}

void Helper::notice(bool at_once) {
  // The caller has counted its operation before it reads is_awake_; sleep_until_called() does these in the
  // opposite order. So at least one of the two sees the other's change.
  if (!is_awake_ || at_once) call();
}

void Helper::call() {
  {
    const std::lock_guard lock(mutex_);
    called_ = true;
  }
  wake_up_.notify_one();
}

void Helper::wait_for_end_of_poll() const {
  while (is_polling_) sched_yield();
}

void Helper::stop() {
  if (!thread_.is_running()) return;
  is_stopping_ = true;
  call();
  thread_.join();
  is_awake_ = false;
}

void Helper::run() {
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // ns; the usual 50 µs is longer than a nap
  HelperRules rules;
  while (!is_stopping_) {
    is_polling_ = true;  // before it reads the state on which a poll depends
    const ProgressState state = counts_.read();
    const auto found = rules.must_poll(state) ? poll_(state.blocked > 0) : HelperRules::Found::not_needed;
    is_polling_ = false;
    const std::optional<HelperRules::Time> rest = rules.after(found);
    if (!rest || rules.only_listens()) {
      sleep_until_called(rest);
    } else if (rest->count() > 0 && sleep(*rest)) {
      rules.called();
    }
  }
}

bool Helper::sleep(HelperRules::Time time) {
  std::unique_lock lock(mutex_);
  wake_up_.wait_for(lock, time, [&] { return called_; });
  return std::exchange(called_, false);
}

void Helper::sleep_until_called(std::optional<HelperRules::Time> longest) {
  std::unique_lock lock(mutex_);
  is_awake_ = false;
  const auto is_called = [&] { return called_; };
  if (counts_.any_outstanding()) {
    // It polls at once.
  } else if (longest) {
    wake_up_.wait_for(lock, *longest, is_called);
  } else {
    wake_up_.wait(lock, is_called);
  }
  is_awake_ = true;
  called_ = false;
}

}  // namespace stretto
