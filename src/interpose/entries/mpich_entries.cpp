// SPDX-License-Identifier: Apache-2.0
// MPICH's own function, whose result is not an error code.
#include "interpose/operations/completion.hpp"
#include "interpose/passing/entry.hpp"
#include "interpose/progress/progress.hpp"

namespace stretto {

#define STRETTO_TAKE_OVER_IS_COMPLETE(P)                                     \
  STRETTO_DEFINE(P##MPIX_Request_is_complete, (RawHandle request), {         \
    if (next.concerns_stretto() && !is_idle()) {                             \
      make_progress();                                                       \
      const Pending* pending = find_pending(from_raw<MPI_Request>(request)); \
      if (pending != nullptr) return pending->is_done() ? 1 : 0;             \
    }                                                                        \
    return next(request);                                                    \
  })
STRETTO_TAKE_OVER_IS_COMPLETE()
STRETTO_TAKE_OVER_IS_COMPLETE(P)

}  // namespace stretto
