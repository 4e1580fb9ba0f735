// SPDX-License-Identifier: Apache-2.0
#include "exec/preload.hpp"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace stretto {
namespace {

constexpr std::string_view library_name = "/libstretto.so";
constexpr std::string_view auditor_name = "/libstretto-audit.so";

bool holds_library(const std::string& folder) {
  return access((folder + std::string(library_name)).c_str(), R_OK) == 0;
}

/// Returns whether a preloaded object must stay behind Stretto. That is so for an MPI library, whose
/// functions would be found first otherwise, and for another Stretto.
bool stays_behind(std::string_view entry) {
  const std::string_view name = entry.substr(entry.rfind('/') + 1);
  constexpr std::array beginnings{"libmpi.so", "libmpich.so", "libmpi_abi.so", "libstretto"};
  return std::ranges::any_of(beginnings,
                             [&](std::string_view beginning) { return name.starts_with(beginning); });
}

}  // namespace

std::string own_path() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return length < 0 ? std::string() : std::string(path.data(), static_cast<std::size_t>(length));
}

std::string find_library() {
  if (const char* chosen = std::getenv("STRETTO_LIB_DIR"); chosen != nullptr && chosen[0] != '\0') {
    return holds_library(chosen) ? chosen + std::string(library_name) : "";
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
    if (!folder.empty()) return folder + std::string(library_name);
  }
  return {};
}

std::string preload_value(const std::string& library, const char* existing) {
  std::string front;
  std::string behind;
  std::string_view rest = existing == nullptr ? "" : existing;
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(": ");
    const std::string_view entry = rest.substr(0, end);
    // The library of an outer `stretto exec` must not appear twice.
    if (!entry.empty() && entry != library) {
      if (stays_behind(entry)) {
        behind.append(":").append(entry);
      } else {
        front.append(entry).append(":");
      }
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return front + library + behind;
}

std::string audit_value(const std::string& library, const char* existing) {
  const std::string auditor = library.substr(0, library.rfind('/')) + std::string(auditor_name);
  std::string value = existing == nullptr ? "" : existing;
  if (access(auditor.c_str(), R_OK) != 0 ||
      (":" + value + ":").find(":" + auditor + ":") != std::string::npos)
    return value;
  return value + (value.empty() ? "" : ":") + auditor;
}

std::string sanitizer_options(const char* existing) {
  constexpr std::string_view any_order = "verify_asan_link_order=0";
  std::string options = existing == nullptr ? "" : existing;
  if ((":" + options + ":").find(":" + std::string(any_order) + ":") != std::string::npos) return options;
  return options + (options.empty() ? "" : ":") + std::string(any_order);
}

}  // namespace stretto
