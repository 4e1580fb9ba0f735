// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stretto {

/// Returns the path of this program, symbolic links resolved.
std::string own_path();

/// Returns the folder of this installation's libstretto.so, or "" if there is none. STRETTO_LIB_DIR names
/// another one.
std::string find_library_folder();

}  // namespace stretto
