// SPDX-License-Identifier: Apache-2.0
#include "exec/installation.hpp"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

namespace stretto {
namespace {

bool holds_library(const std::string& folder) {
  return access((folder + "/libstretto.so").c_str(), R_OK) == 0;
}

}  // namespace

std::string own_path() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return length < 0 ? std::string() : std::string(path.data(), static_cast<std::size_t>(length));
}

std::string find_library_folder() {
  if (const char* chosen = std::getenv("STRETTO_LIB_DIR"); chosen != nullptr && chosen[0] != '\0') {
    return holds_library(chosen) ? std::filesystem::absolute(chosen).string() : "";
  }
  std::string prefix = own_path();
  for (int up = 0; up < 2; ++up) prefix.resize(std::min(prefix.size(), prefix.rfind('/')));
  // The folders in a Python environment, and after cmake --install.
  for (const char* pattern :
       {"/lib*/python3*/*-packages/stretto/lib", "/local/lib/python3*/*-packages/stretto/lib", "/lib",
        "/lib64", "/lib/*-linux-gnu"}) {
    glob_t found{};
    const bool any = glob((prefix + pattern).c_str(), 0, nullptr, &found) == 0;
    std::string folder;
    for (std::size_t i = 0; any && i < found.gl_pathc && folder.empty(); ++i) {
      if (holds_library(found.gl_pathv[i])) folder = found.gl_pathv[i];
    }
    globfree(&found);
    if (!folder.empty()) return folder;
  }
  return {};
}

}  // namespace stretto
