// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "interpose/communicators/communicator.hpp"
#include "interpose/session/call_traits.hpp"
#include "select/spec.hpp"

namespace stretto {

/// Makes figures the greatest of all ranks, before a blocking call. Returns false after an error, which the
/// program's handler has got; the call that follows meets it as well.
///
/// All ranks get here in the same call, because what is learned depends only on the sequence of calls and on
/// what was agreed on. So the library's blocking allreduce on the program's communicator is in the same
/// order on all ranks: MPI requires that order for this call, and for everything that the program has
/// started on the communicator before. Meanwhile the helper thread advances what is outstanding, as in a
/// call that the library carries out.
bool agree_on_greatest(std::vector<double>& figures, const Communicator& state, const CallTraits& traits,
                       const Spec& spec, MPI_Comm comm);

}  // namespace stretto
