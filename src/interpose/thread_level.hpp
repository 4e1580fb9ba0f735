// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// Whether MPI should be initialized for MPI_THREAD_MULTIPLE though the program asked for less, since a
/// helper thread will call it: where the program uses collectives that are not blocking, as far as its
/// symbols tell, or STRETTO_PROGRESS_THREAD=1 is set. Elsewhere nobody pays for the library's locks (some 40
/// ns a message in Open MPI 4.1); and a program that makes windows is left alone where the library may refuse
/// them at that level.
bool wants_helper_thread();

}  // namespace stretto
