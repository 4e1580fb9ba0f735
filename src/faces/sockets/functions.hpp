// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "faces/sockets/objects.hpp"

namespace stretto::faces::sockets {

/// The MPI functions of a job without MPI, as the core calls them. They check nothing: the core is their only
/// caller.
struct Functions {
#define STRETTO_DECLARE(name, parameters) static int name parameters;
  STRETTO_MPI_FUNCTIONS(STRETTO_DECLARE)
  STRETTO_MPI_LIST_FUNCTIONS(STRETTO_DECLARE)
#undef STRETTO_DECLARE
};

/// Returns one of the few functions to which calls of the program are passed on, such as own:MPI_Ibcast;
/// nullptr for any other name.
void* find_symbol(const char* name);

}  // namespace stretto::faces::sockets
