// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace stretto {

/// Returns HOME, if it is an absolute path and there is such a folder; else an empty text. A home that does
/// not exist is not ours to make: users without one have such a HOME, and a job of root could make it.
inline std::string home_folder() {
  const char* home = std::getenv("HOME");
  std::error_code failed;
  return home != nullptr && *home == '/' && std::filesystem::is_directory(home, failed) ? home : "";
}

}  // namespace stretto
