// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "faces/sockets/objects.hpp"

namespace stretto::faces::sockets {

/// The MPI functions of a job without MPI, as the core calls them. They check nothing: the core is their only
/// caller.
struct Functions {
  // NOLINTBEGIN(readability-identifier-naming): these are MPI's names.
#define STRETTO_DECLARE(name, parameters) static int name parameters;
  STRETTO_MPI_FUNCTIONS(STRETTO_DECLARE)
  STRETTO_MPI_LIST_FUNCTIONS(STRETTO_DECLARE)
  // NOLINTEND(readability-identifier-naming)
#undef STRETTO_DECLARE
};

}  // namespace stretto::faces::sockets
