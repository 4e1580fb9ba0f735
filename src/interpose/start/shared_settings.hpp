// SPDX-License-Identifier: Apache-2.0
// The settings and the tuning table. Rank 0 reads them for all ranks, because choices must not differ.
#pragma once

#include <string>

#include "settings/settings.hpp"

namespace stretto {

/// Returns, on rank 0, the settings of its environment and the tuning table, if any, as one text. `library`
/// is the name that the MPI library gives itself (MPI_Get_library_version).
std::string read_shared_settings(const std::string& library);

/// Returns, on all ranks, the settings in the text of read_shared_settings(). Sets `session.table` if there
/// is a table to use. Errors are added to the complaints.
Settings take_shared_settings(const std::string& text, const std::string& library);

}  // namespace stretto
