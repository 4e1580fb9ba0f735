// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "interpose/communicators/communicator.hpp"
#include "interpose/session/call_traits.hpp"
#include "select/spec.hpp"

namespace stretto {

/// Replaces each figure by the greatest one of all ranks, before a blocking call. Returns false after an
/// error. The program's handler has been called for it, and the call that follows meets the error as well.
///
/// All ranks get here in the same call, because what is learned depends only on the sequence of calls and on
/// what was agreed on. So the MPI library's blocking allreduce on the program's communicator is in the same
/// order on all ranks: MPI requires that order for this call, and for everything that the program has started
/// on the communicator before. Meanwhile the helper thread advances the outstanding operations, as in a call
/// that the library carries out.
bool agree_on_greatest(std::vector<double>& figures, const Communicator& state, const CallTraits& traits,
                       const Spec& spec, MPI_Comm comm);

}  // namespace stretto
