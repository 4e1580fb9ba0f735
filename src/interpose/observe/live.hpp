// SPDX-License-Identifier: Apache-2.0
// What each thread of the program is in at the moment, and how many calls it has made, for `stretto top`. The
// counters are in a page of memory that other processes of this user can map (observe/live_page.hpp).
//
// Counting takes a few stores to a line of this thread's own. The shortest calls take less than ten looks at
// the clock, so calls are timed only while a viewer watches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interpose/observe/live_page.hpp"
#include "select/form.hpp"

namespace stretto {

/// Shows the page, with the session's facts and no calls. To be called before the session is active. If the
/// system gives no memory that can be shared, the counters are in private memory, and nothing is said.
void begin_live(std::uint64_t job);
/// Hides the page. It stays where it is.
void end_live();

namespace detail {
inline thread_local LiveThread* live_place __attribute__((tls_model("initial-exec"))) = nullptr;
LiveThread& take_live_place();
/// For a place that is watched, or shared.
void note_watched_entry(LiveThread& place);
/// For a place that is watched or shared, or whose call has looked at a clock.
void note_timed_end(LiveThread& place, CallCounter& counter, bool counts);
void note_waiting(LiveThread& place);

inline LiveThread& enter_live_place(Collective collective) {
  LiveThread& place = live_place != nullptr ? *live_place : take_live_place();
  place.bytes_now.store(0, std::memory_order_relaxed);
  // Before `now`: a viewer takes 0 for a call that began before it came.
  if (place.watched_until.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    note_watched_entry(place);
  }
  place.now.store(static_cast<std::uint32_t>(collective) + 1, std::memory_order_release);
  return place;
}

/// `counts`: whether a call ends. (Else it was counted at its start.)
inline void leave_live_place(LiveThread& place, std::size_t collective, bool counts) {
  CallCounter& counter = place.counters[collective];
  const std::int64_t until = place.watched_until.load(std::memory_order_relaxed);
  if ((until | place.since.load(std::memory_order_relaxed)) != 0) [[unlikely]] {
    note_timed_end(place, counter, counts);
  } else if (counts) {
    counter.count_alone(place.bytes_now.load(std::memory_order_relaxed));
  }
  place.now.store(0, std::memory_order_relaxed);
}
}  // namespace detail

/// While it lives, this thread is in a call of a collective.
class LiveCall {
 public:
  /// Making a persistent collective is no call.
  LiveCall(Collective collective, Form form)
      : place_(form == Form::persistent ? nullptr : &detail::enter_live_place(collective)),
        collective_(collective) {}
  LiveCall(const LiveCall&) = delete;
  LiveCall& operator=(const LiveCall&) = delete;
  ~LiveCall() {
    if (place_ == nullptr) return;
    detail::leave_live_place(*place_, static_cast<std::size_t>(collective_), true);
  }

 private:
  LiveThread* place_;
  Collective collective_;
};

/// This thread waits for a call that was counted at its start.
void begin_live_wait(Collective collective, std::size_t bytes);
/// It no longer does.
void end_live_wait();

class LiveWait {
 public:
  LiveWait(Collective collective, std::size_t bytes) { begin_live_wait(collective, bytes); }
  LiveWait(const LiveWait&) = delete;
  LiveWait& operator=(const LiveWait&) = delete;
  ~LiveWait() { end_live_wait(); }
};

/// Notes the bytes of the call that this thread is in, if it is in one.
inline void note_live_bytes(std::size_t bytes) {
  if (detail::live_place != nullptr) detail::live_place->bytes_now.store(bytes, std::memory_order_relaxed);
}

/// Notes that the call of this thread takes long enough for a look at a clock. Later ones change nothing.
inline void note_live_waiting() {
  if (detail::live_place != nullptr) detail::note_waiting(*detail::live_place);
}

}  // namespace stretto
