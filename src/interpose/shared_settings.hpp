// SPDX-License-Identifier: Apache-2.0
// What rank 0 reads, and all ranks get: what chooses must not differ. Collective over MPI_COMM_WORLD.
#pragma once

#include <string>

#include "select/settings.hpp"

namespace stretto {

/// Of rank 0's environment.
Settings share_settings();

/// Sets `session.table` to the table that is to be used, if any, of the MPI library that calls itself so
/// (MPI_Get_library_version). What is wrong with it is added to the complaints.
void share_table(Settings& settings, const std::string& library);

}  // namespace stretto
