// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <atomic>

namespace stretto_torch {

/// Returns the only T of this process, which is never destroyed: groups and threads may outlive static
/// objects. A forked child gets one of its own. It has none of its parent's threads, and these may have held
/// locks.
template <typename T>
T& of_process() {
  struct Owned {
    T object;
    const pid_t process = getpid();
  };
  static std::atomic<Owned*> latest{nullptr};
  Owned* now = latest;
  while (now == nullptr || now->process != getpid()) {
    auto* const made = new Owned;
    if (latest.compare_exchange_strong(now, made)) return made->object;
    delete made;
  }
  return now->object;
}

}  // namespace stretto_torch
