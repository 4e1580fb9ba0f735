// SPDX-License-Identifier: Apache-2.0
// The collectives that Stretto handles, with counts of int.
#include "interpose/entries/collective_entries.hpp"

namespace stretto {

#define STRETTO_INT_FORMS(Name, Iname, name, iname, parameters, arguments, record) \
  STRETTO_FORMS(Name, Iname, , name, parameters, arguments)
STRETTO_COLLECTIVES(STRETTO_INT_FORMS, int)

}  // namespace stretto
