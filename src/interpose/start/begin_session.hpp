// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "interpose/session/thread_level.hpp"

namespace stretto {

/// Which ranks of MPI_COMM_WORLD are known to begin the session.
enum class Participation {
  certain,    // all: a program asked for it on each of them
  uncertain,  // in MPI_Init, where some ranks may run without the preload
};

/// Begins the session, which ends in MPI_Finalize. To be called when MPI_Init has succeeded. `background` is
/// the value that is possible on this rank. Collective over MPI_COMM_WORLD: if any rank does not call it, no
/// rank has a session.
void begin_session(Background background, Participation participation);

}  // namespace stretto
