// SPDX-License-Identifier: Apache-2.0
#include "threads/time_slice.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace stretto {
namespace {

/// The shortest slice that Linux accepts.
constexpr std::uint64_t shortest_slice = 100'000;  // ns

/// The first version of struct sched_attr of linux/sched/types.h, which older headers lack.
struct Attributes {
  std::uint32_t size = sizeof(Attributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;  // the slice, for threads without a real-time policy
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

thread_local std::uint64_t usual_slice = 0;  // valid if `is_short`
thread_local bool is_short = false;

/// Sets the slice and returns the one that the thread had. All other attributes stay.
std::uint64_t set_slice(std::uint64_t slice) {
  Attributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return 0;
  if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return 0;
  const std::uint64_t before = attributes.runtime;
  attributes.runtime = slice;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
  return before;
}

}  // namespace

void ask_for_short_slices() {
  if (is_short) return;
  usual_slice = set_slice(shortest_slice);
  is_short = true;
}

bool has_short_slices() {
  return is_short;
}

void ask_for_usual_slices() {
  if (!is_short) return;
  set_slice(usual_slice);
  is_short = false;
}

void detail::note_thread(bool wanted) {
  is_noted = wanted;
  if (getpid() == syscall(SYS_gettid))
    return;  // gettid() is younger than the oldest C library that we run on
  if (wanted) {
    ask_for_short_slices();
  } else {
    ask_for_usual_slices();
  }
}

}  // namespace stretto
