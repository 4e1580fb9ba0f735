// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace stretto {

/// Returns HOME if it is an absolute path of a folder that exists; else "". Stretto must not create a home:
/// users without one have a HOME that does not exist, and a job of root could create it.
inline std::string home_folder() {
  const char* home = std::getenv("HOME");
  std::error_code failed;
  return home != nullptr && *home == '/' && std::filesystem::is_directory(home, failed) ? home : "";
}

}  // namespace stretto
