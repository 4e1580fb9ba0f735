// SPDX-License-Identifier: Apache-2.0
// MPICH's own function, whose result is not an error code. Intel MPI and older MPICH lack it. For them
// MPI_Request_get_status answers, which differs only in that it makes progress.
#include "interpose/operations/completion.hpp"
#include "interpose/passing/entry.hpp"
#include "interpose/progress/progress.hpp"

namespace stretto {

#define STRETTO_TAKE_OVER_IS_COMPLETE(P)                                                            \
  STRETTO_DEFINE(P##MPIX_Request_is_complete, nullptr, nullptr, (RawHandle request), {              \
    static const Next<int(RawHandle, int*, void*)> get_status(#P "MPI_Request_get_status", nullptr, \
                                                              nullptr);                             \
    if (next.concerns_stretto() && !is_idle()) {                                                    \
      make_progress();                                                                              \
      const Pending* pending = find_pending(from_raw<MPI_Request>(request));                        \
      if (pending != nullptr) return pending->is_done() ? 1 : 0;                                    \
    }                                                                                               \
    if (!next.is_missing()) return next(request);                                                   \
    int flag = 0;                                                                                   \
    return get_status(request, &flag, mpi.status_ignore) == MPI_SUCCESS ? flag : 0;                 \
  })
STRETTO_TAKE_OVER_IS_COMPLETE()
STRETTO_TAKE_OVER_IS_COMPLETE(P)

}  // namespace stretto
