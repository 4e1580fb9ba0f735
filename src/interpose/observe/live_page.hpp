// SPDX-License-Identifier: Apache-2.0
// The memory that a rank shares with `stretto top`: numbers in a fixed layout, which
// python/stretto/top/page.py reads. Whoever changes the layout changes the version.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "algorithms/collective.hpp"
#include "interpose/session/call_counter.hpp"

namespace stretto {

/// What one thread of the program has done, and what it does now. Only this thread writes here, apart from
/// the two fields of the viewer.
struct alignas(64) LiveThread {
  /// The kernel's number of the thread. 0: the place is free.
  std::atomic<std::int32_t> thread{0};
  /// The collective that the thread is in, plus 1. 0: none.
  std::atomic<std::uint32_t> now{0};
  /// The bytes of that call. 0: not known.
  std::atomic<std::uint64_t> bytes_now{0};
  /// When the call began, or began to wait (ns of CLOCK_MONOTONIC). 0: not known, or there is no call.
  std::atomic<std::int64_t> since{0};
  /// Written by the viewer: since when and until when it watches (ns of CLOCK_MONOTONIC). The thread reads
  /// the clock only while `watched_until` is not 0, and sets it to 0 when that time is over.
  std::atomic<std::int64_t> watched_from{0};
  std::atomic<std::int64_t> watched_until{0};
  /// 1: several threads share this place. Their calls are counted, but not timed. (There `watched_until` is
  /// never 0, so that the other places need not look here.)
  std::uint32_t is_shared = 0;
  std::uint32_t unused = 0;
  /// [collective] The nanoseconds are those of calls that ended while a viewer watched.
  std::array<CallCounter, collectives.size()> counters{};
};

struct LivePage {
  static constexpr std::uint64_t right_magic = 0x006f'7474'6572'7473U;  // "stretto", little endian
  static constexpr std::uint32_t right_version = 1;
  static constexpr std::size_t most_threads = 16;
  static constexpr std::size_t most_collectives = 16;
  static constexpr std::size_t longest_name = 24;
  static constexpr std::size_t longest_library = 64;

  /// Written last. 0: no job runs, or the page is not complete.
  std::atomic<std::uint64_t> magic{0};
  std::uint32_t version = 0;
  std::uint32_t bytes = 0;  // of the page
  std::int32_t pid = 0;     // in the rank's own PID namespace
  std::int32_t rank = 0;    // of MPI_COMM_WORLD
  std::int32_t ranks = 0;
  std::int32_t nodes = 0;
  /// A number that is the same on the ranks of one job, and differs between jobs.
  std::uint64_t job = 0;
  /// When the job began (ns of CLOCK_REALTIME).
  std::int64_t began = 0;
  std::uint32_t threads_at = 0;  // in the page
  std::uint32_t thread_bytes = 0;
  std::uint32_t thread_count = 0;
  std::uint32_t counters_at = 0;  // in a thread's place
  std::uint32_t collective_count = 0;
  std::uint32_t unused = 0;
  std::array<char, longest_library> library{};
  std::array<std::array<char, longest_name>, most_collectives> names{};
  /// The last place is shared by all threads that find the others taken.
  std::array<LiveThread, most_threads> threads{};
};

static_assert(collectives.size() <= LivePage::most_collectives);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(CallCounter) == 24);
static_assert(offsetof(LivePage, library) == 72 && offsetof(LiveThread, counters) == 48);

}  // namespace stretto
