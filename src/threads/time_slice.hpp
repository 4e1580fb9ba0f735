// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// Asks the kernel to give this thread the processor in short slices, and therefore soon. It gets no more
/// time than before. A collective goes on when a thread polls it, a moment after each message. If computing
/// threads share its core, a waiting thread with the usual slice of some milliseconds polls once for each
/// of their slices, and yielding the processor gives away a whole slice. (Linux 6.12 and newer; older
/// kernels ignore it. A process may do this to its own threads.)
void ask_for_short_slices();

/// Whether this thread has short slices.
bool has_short_slices();

/// Restores the slices from before.
void ask_for_usual_slices();

namespace detail {
inline thread_local bool is_noted __attribute__((tls_model("initial-exec"))) = false;
void note_thread(bool wanted);
}  // namespace detail

/// Gives a communication thread short slices in calls for which they are `wanted`. A communication thread
/// makes collective calls and is not the main thread, such as Horovod's. Takes a nanosecond if nothing
/// changes.
inline void mark_communication_thread(bool wanted) {
  if (wanted != detail::is_noted) detail::note_thread(wanted);
}

}  // namespace stretto
