// SPDX-License-Identifier: Apache-2.0
// The collectives with counts of MPI_Count.
#include "interpose/entries/collective_entries.hpp"

namespace stretto {

#define STRETTO_LARGE_FORMS(Name, Iname, name, iname, parameters, arguments, record) \
  STRETTO_FORMS(Name, Iname, _c, name, parameters, arguments)
STRETTO_COUNTED_COLLECTIVES(STRETTO_LARGE_FORMS, RawCount)

}  // namespace stretto
