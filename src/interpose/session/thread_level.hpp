// SPDX-License-Identifier: Apache-2.0
// Who carries out the calls in the background (non-blocking and persistent ones) of a process. Stretto needs
// a helper thread for them, which calls MPI, and so MPI_THREAD_MULTIPLE. It asks the library for that level,
// though the program asked for less, only where nothing can go wrong by it.
#pragma once

#include <cstdint>

namespace stretto {

/// The worst of all ranks counts (the largest number).
enum class Background : std::uint8_t {
  own,                // Stretto does
  not_expected,       // no object of the process refers to a call in the background
  calls_the_program,  // the program may have MPI call functions of its own, and did not ask for several
                      // threads
  makes_windows,      // the library may refuse windows at MPI_THREAD_MULTIPLE
  not_given,          // the library does not give MPI_THREAD_MULTIPLE
};

/// What the symbols of the process and its environment say when it initializes MPI at the level `required`.
/// Where nobody needs the level it is not raised: the library's locks take some 40 ns a message (Open
/// MPI 4.1).
Background plan_background(int required);

/// The same when the library has given a level.
Background settle_background(Background planned, int given);

/// Why calls in the background are the library's, and what would change it; empty for `own`.
const char* reason_of(Background background);

}  // namespace stretto
