// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/agreement.hpp"

#include "interpose/operations/operation.hpp"
#include "interpose/progress/progress.hpp"

namespace stretto {

bool agree_on_greatest(std::vector<double>& figures, const Communicator& state, const CallTraits& traits,
                       const Spec& spec, MPI_Comm comm) {
  const AwaitedCall awaited(state, traits, spec);
  const BlockedScope blocked;
  return mpi.Allreduce(mpi.in_place, figures.data(), static_cast<int>(figures.size()), mpi.double_, mpi.max,
                       comm) == MPI_SUCCESS;
}

}  // namespace stretto
