// SPDX-License-Identifier: Apache-2.0
#include "interpose/observe/live.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <new>
#include <string_view>

#include "interpose/session/session.hpp"
#include "select/library_name.hpp"
#include "threads/signals_blocked.hpp"

namespace stretto {
namespace {

/// Where the counters are unless memory can be shared.
constinit LivePage own_page;
LivePage* page = &own_page;
/// Whether other processes can see the page.
bool is_visible = false;
std::atomic<std::size_t> places_taken{0};

std::int64_t nanoseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Returns the number of a file that holds a page and has no name in any folder, or -1.
int make_file() {
  // Past this limit, the kernel would end the process.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < sizeof(LivePage)) return -1;
  const int file = memfd_create("stretto-live", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  int error = 0;
  {
    // An interrupted call has reserved nothing.
    const SignalsBlocked blocked;
    do {
      error = posix_fallocate(file, 0, sizeof(LivePage));
    } while (error == EINTR);
  }
  if (error == 0 && fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0) return file;
  close(file);
  return -1;
}

/// The child goes on with memory of its own at the same address. It has no job: its parent has.
void leave_page_to_parent() {
  detail::live_place = nullptr;
  places_taken = 0;
  is_visible = false;
  if (page == &own_page) return;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (mmap(page, sizeof(LivePage), PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) page = &own_page;
}

/// The file stays open: by it, a viewer finds the page. Threads keep their places for the life of the
/// process, so the page is never unmapped, and its address never changes.
void share_page() {
  if (is_visible) return;
  // Once a thread has its place in private memory, it stays there.
  const bool is_first = page == &own_page;
  if (is_first && places_taken != 0) return;
  static const int no_handler = pthread_atfork(nullptr, nullptr, leave_page_to_parent);
  const int file = no_handler == 0 ? make_file() : -1;
  if (file < 0) return;
  void* const memory = mmap(is_first ? nullptr : page, sizeof(LivePage), PROT_READ | PROT_WRITE,
                            is_first ? MAP_SHARED : MAP_SHARED | MAP_FIXED, file, 0);
  if (memory == MAP_FAILED) {
    close(file);
    return;
  }
  page = new (memory) LivePage;
  is_visible = true;
}

template <std::size_t size>
void write_text(std::array<char, size>& place, std::string_view text) {
  place.fill('\0');
  std::copy_n(text.begin(), std::min(text.size(), size - 1), place.begin());
}

}  // namespace

void begin_live(std::uint64_t job) {
  share_page();
  page->version = LivePage::right_version;
  page->bytes = sizeof(LivePage);
  page->pid = getpid();
  page->rank = session.world_rank;
  page->ranks = session.topology.ranks();
  page->nodes = session.topology.nodes;
  page->job = job;
  page->began = nanoseconds(CLOCK_REALTIME);
  page->threads_at = offsetof(LivePage, threads);
  page->thread_bytes = sizeof(LiveThread);
  page->thread_count = LivePage::most_threads;
  page->counters_at = offsetof(LiveThread, counters);
  page->collective_count = collectives.size();
  const auto library = parse_library_name(session.library);
  write_text(page->library, library ? library->name : session.library);
  for (const Collective collective : collectives)
    write_text(page->names[static_cast<std::size_t>(collective)], name_of(collective));
  LiveThread& shared = page->threads.back();
  shared.is_shared = 1;
  shared.watched_until = INT64_MAX;
  for (LiveThread& thread : page->threads) {
    for (CallCounter& counter : thread.counters) counter.calls = counter.bytes = counter.nanoseconds = 0;
  }
  page->magic.store(LivePage::right_magic, std::memory_order_release);
}

void end_live() {
  page->magic.store(0, std::memory_order_release);
}

void begin_live_wait(Collective collective, std::size_t bytes) {
  LiveThread& place = detail::enter_live_place(collective);
  place.bytes_now.store(bytes, std::memory_order_relaxed);
  detail::note_waiting(place);
}

void end_live_wait() {
  LiveThread* const place = detail::live_place;
  const std::uint32_t now = place == nullptr ? 0 : place->now.load(std::memory_order_relaxed);
  if (now != 0) detail::leave_live_place(*place, now - 1, false);
}

LiveThread& detail::take_live_place() {
  const std::size_t next = places_taken.fetch_add(1, std::memory_order_relaxed);
  live_place = &page->threads[std::min(next, LivePage::most_threads - 1)];
  live_place->thread.store(static_cast<std::int32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  return *live_place;
}

void detail::note_watched_entry(LiveThread& place) {
  if (place.is_shared == 0) place.since.store(nanoseconds(CLOCK_MONOTONIC), std::memory_order_relaxed);
}

void detail::note_timed_end(LiveThread& place, CallCounter& counter, bool counts) {
  const std::uint64_t bytes = place.bytes_now.load(std::memory_order_relaxed);
  if (place.is_shared != 0) {
    if (counts) counter.count(bytes);
    return;
  }
  if (counts) counter.count_alone(bytes);
  if (std::int64_t until = place.watched_until.load(std::memory_order_relaxed); until != 0) {
    const std::int64_t now = nanoseconds(CLOCK_MONOTONIC);
    const std::int64_t since = place.since.load(std::memory_order_relaxed);
    // A call that has not looked at a clock counts from when the viewer came.
    const std::int64_t began = since != 0 ? since : place.watched_from.load(std::memory_order_relaxed);
    if (now > began)
      counter.nanoseconds.fetch_add(static_cast<std::uint64_t>(now - began), std::memory_order_relaxed);
    // The viewer may come again just now.
    if (now > until) place.watched_until.compare_exchange_strong(until, 0, std::memory_order_relaxed);
  }
  // In this order: a viewer takes a call without a time for one that began before it came.
  place.now.store(0, std::memory_order_relaxed);
  place.since.store(0, std::memory_order_release);
}

void detail::note_waiting(LiveThread& place) {
  if (place.is_shared != 0 || place.since.load(std::memory_order_relaxed) != 0) return;
  // Some milliseconds do not matter, and this clock takes a fifth of the time.
  place.since.store(nanoseconds(CLOCK_MONOTONIC_COARSE), std::memory_order_relaxed);
}

}  // namespace stretto
