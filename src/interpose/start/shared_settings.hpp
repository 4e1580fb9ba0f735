// SPDX-License-Identifier: Apache-2.0
// What rank 0 reads, and all ranks get: what chooses must not differ.
#pragma once

#include <string>

#include "select/settings.hpp"

namespace stretto {

/// On rank 0: the settings of its environment and the tuning table, if any, as one text. `library`: how the
/// MPI library calls itself (MPI_Get_library_version).
std::string read_shared_settings(const std::string& library);

/// On all ranks: the settings of that text. Sets `session.table` to the table that is to be used, if any.
/// What is wrong with it is added to the complaints.
Settings take_shared_settings(const std::string& text, const std::string& library);

}  // namespace stretto
