// SPDX-License-Identifier: Apache-2.0
// Open MPI 4 has persistent collectives under the names from before MPI 4.
#include "interpose/entries/collective_entries.hpp"

namespace stretto {

#define STRETTO_OLD_PERSISTENT(symbol, name, parameters, arguments)                \
  STRETTO_DEFINE(symbol, (STRETTO_LIST parameters, RawHandle info, void* request), \
                 return name(next, persistent(request), STRETTO_LIST arguments, info, request);)
#define STRETTO_OLD_FORMS(Name, Iname, name, iname, parameters, arguments, record) \
  STRETTO_OLD_PERSISTENT(MPIX_##Name##_init, name, parameters, arguments)          \
  STRETTO_OLD_PERSISTENT(PMPIX_##Name##_init, name, parameters, arguments)
STRETTO_COLLECTIVES(STRETTO_OLD_FORMS, int)

}  // namespace stretto
