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

/// What Linux counts of the calling thread: nanoseconds on a core, ready to run without one, and slices.
class ThreadStatistics {
 public:
  ThreadStatistics() = default;
  ThreadStatistics(const ThreadStatistics&) = delete;
  ThreadStatistics& operator=(const ThreadStatistics&) = delete;
  ~ThreadStatistics() {
    if (file_ >= 0) close(file_);
  }

  /// False where the kernel was built without them.
  bool read_ready(std::chrono::nanoseconds& ready) const {
    std::array<char, 80> text{};
    if (file_ < 0 || pread(file_, text.data(), text.size() - 1, 0) <= 0) return false;
    std::int64_t nanoseconds = 0;
    if (std::sscanf(text.data(), "%*d %" SCNd64, &nanoseconds) != 1) return false;
    ready = std::chrono::nanoseconds(nanoseconds);
    return true;
  }

 private:
  int file_ = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
};

}  // namespace

Core::Times Core::times() {
  static thread_local const ThreadStatistics statistics;
  Times times{Clock::now(), {}};
  if (statistics.read_ready(times.ready)) return times;
  // All time without a core then: it slept in some of it, and takes the core for shared too often.
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
