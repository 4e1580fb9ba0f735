// SPDX-License-Identifier: Apache-2.0
#include "core.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace stretto_torch {
namespace {

/// Reads how long the calling thread was ready but had no core. Linux's counters of a thread are nanoseconds
/// on a core, nanoseconds ready but without a core, and slices. Returns false if there are none. No file
/// stays open, since the program might close it.
bool read_ready(std::chrono::nanoseconds& ready) {
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 80> text{};
  const bool is_read = read(file, text.data(), text.size() - 1) > 0;
  close(file);
  std::int64_t on_core = 0;
  std::int64_t nanoseconds = 0;
  if (!is_read || std::sscanf(text.data(), "%" SCNd64 " %" SCNd64, &on_core, &nanoseconds) != 2) return false;
  ready = std::chrono::nanoseconds(nanoseconds);
  return on_core > 0;
}

}  // namespace

Core::Times Core::times() {
  Times times{Clock::now(), {}};
  if (read_ready(times.ready)) return times;
  // Without counters, all time without a core counts. Some of this time was sleep, so the core counts as
  // shared too often.
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  times.ready = times.now.time_since_epoch() - std::chrono::seconds(used.tv_sec) -
                std::chrono::nanoseconds(used.tv_nsec);
  return times;
}

bool Core::is_shared() {
  const Times before = last_;
  if (Clock::now() - before.now < least) return false;
  last_ = times();
  return last_.ready - before.ready > (last_.now - before.now) / 4;
}

void Core::begin() {
  last_ = times();
}

}  // namespace stretto_torch
