// SPDX-License-Identifier: Apache-2.0
// Decides who handles the non-blocking and persistent calls of a process. Stretto needs a helper thread for
// them. That thread calls MPI, so Stretto needs MPI_THREAD_MULTIPLE. If the program asked for a lower level,
// Stretto asks for MPI_THREAD_MULTIPLE only if that cannot break anything.
#pragma once

#include <cstdint>

namespace stretto {

/// Who handles these calls, and why. The largest value of all ranks counts.
enum class Background : std::uint8_t {
  own,                // Stretto handles them
  not_expected,       // no object of the process refers to a call in the background
  calls_the_program,  // the program may have MPI call functions of its own, and did not ask for several
                      // threads
  makes_windows,      // the library may refuse windows at MPI_THREAD_MULTIPLE
  not_given,          // the library does not give MPI_THREAD_MULTIPLE
  no_thread,          // the system does not give the helper thread
};

/// Returns the value that the process's symbols and environment suggest when it initializes MPI at the level
/// `required`. The level is not raised without need: the library's locks take some 40 ns a message (Open MPI
/// 4.1).
Background plan_background(int required);

/// Returns the final value, once the library has given a level.
Background settle_background(Background planned, int given);

/// Returns why the library handles non-blocking calls, and how to change that; empty for `own`.
const char* reason_of(Background background);

}  // namespace stretto
