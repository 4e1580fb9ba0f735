// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// Asks the kernel to give this thread the processor in short slices, and therefore soon: it gets no more
/// time than before. A collective goes on when a thread looks at it, a moment after each message; where
/// computing threads share its core, a waiting thread with the usual slice of some milliseconds gets one look
/// for each of theirs, and a yield of the processor gives away a whole one. (Linux 6.12 and newer; others
/// take no notice. A process may do that to its own threads.)
void ask_for_short_slices();

/// Whether this thread has asked.
bool has_short_slices();

/// As it was before the thread asked.
void ask_for_usual_slices();

namespace detail {
inline thread_local bool is_noted __attribute__((tls_model("initial-exec"))) = false;
void note_thread(bool wanted);
}  // namespace detail

/// A thread that makes collective calls and is not the one that the program began with is there to
/// communicate, as Horovod's is: it has short slices in calls for which they are `wanted`. A nanosecond if
/// nothing changes.
inline void mark_communication_thread(bool wanted) {
  if (wanted != detail::is_noted) detail::note_thread(wanted);
}

}  // namespace stretto
