// SPDX-License-Identifier: Apache-2.0
#include "exec/strettos.hpp"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "text/mpi_interface.hpp"

namespace stretto {
namespace {

std::string object_of(const std::string& folder, Interface interface) {
  return folder + "/libstretto-" + std::string(name_of(interface)) + ".so";
}

bool is_there(const std::string& file) {
  return access(file.c_str(), R_OK) == 0;
}

bool holds_strettos(const std::string& folder) {
  return std::ranges::any_of(interfaces,
                             [&](Interface interface) { return is_there(object_of(folder, interface)); });
}

/// Returns the interface of a library that a program needs; those of a language need the one that MPI is.
std::optional<Interface> interface_of_needed(std::string_view library) {
  for (const char* layer : {"libmpi_usempi", "libmpi_mpifh", "libmpi_cxx"}) {
    if (library.starts_with(layer)) return Interface::openmpi;
  }
  return interface_of_file(library);
}

/// Returns whether a preloaded object must stay behind Stretto: an MPI library, since its functions would be
/// found first, and another Stretto.
bool stays_behind(std::string_view entry) {
  const std::string_view name = entry.substr(entry.rfind('/') + 1);
  constexpr std::array beginnings{"libmpi.so", "libmpich.so", "libmpi_abi.so", "libstretto-"};
  return std::ranges::any_of(beginnings,
                             [&](std::string_view beginning) { return name.starts_with(beginning); });
}

}  // namespace

std::string own_path() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return length < 0 ? std::string() : std::string(path.data(), static_cast<std::size_t>(length));
}

std::string find_library_folder() {
  if (const char* chosen = std::getenv("STRETTO_LIB_DIR"); chosen != nullptr && chosen[0] != '\0') {
    return holds_strettos(chosen) ? chosen : "";
  }
  std::string prefix = own_path();
  for (int up = 0; up < 2; ++up) prefix.resize(std::min(prefix.size(), prefix.rfind('/')));
  // In a Python environment, and after cmake --install.
  for (const char* pattern :
       {"/lib*/python3*/*-packages/stretto/lib", "/local/lib/python3*/*-packages/stretto/lib", "/lib",
        "/lib64", "/lib/*-linux-gnu"}) {
    glob_t found{};
    const bool any = glob((prefix + pattern).c_str(), 0, nullptr, &found) == 0;
    std::string folder;
    for (std::size_t i = 0; any && i < found.gl_pathc && folder.empty(); ++i) {
      if (holds_strettos(found.gl_pathv[i])) folder = found.gl_pathv[i];
    }
    globfree(&found);
    if (!folder.empty()) return folder;
  }
  return {};
}

std::vector<std::string> choose_strettos(const std::string& folder, const std::optional<ElfFacts>& program) {
  std::optional<Interface> needed;
  if (program) {
    for (const std::string& library : program->needed) {
      if (!needed) needed = interface_of_needed(library);
    }
  }
  std::vector<std::string> chosen;
  for (const Interface interface : interfaces) {
    const std::string object = object_of(folder, interface);
    if ((!needed || needed == interface) && is_there(object)) chosen.push_back(object);
  }
  return chosen;
}

std::string preload_value(const std::vector<std::string>& strettos, const char* existing) {
  std::vector<std::string> front;
  std::vector<std::string> behind;
  std::string_view rest = existing == nullptr ? "" : existing;
  while (!rest.empty()) {
    const std::size_t end = rest.find_first_of(": ");
    const std::string_view entry = rest.substr(0, end);
    // A Stretto of an outer `stretto exec` would stand there twice.
    if (!entry.empty() && std::ranges::find(strettos, entry) == strettos.end()) {
      (stays_behind(entry) ? behind : front).emplace_back(entry);
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  std::string value;
  for (const auto* part : {&std::as_const(front), &strettos, &std::as_const(behind)}) {
    for (const std::string& one : *part) value += (value.empty() ? "" : ":") + one;
  }
  return value;
}

std::string sanitizer_options(const char* existing) {
  constexpr std::string_view any_order = "verify_asan_link_order=0";
  std::string options = existing == nullptr ? "" : existing;
  if ((":" + options + ":").find(":" + std::string(any_order) + ":") != std::string::npos) return options;
  return options + (options.empty() ? "" : ":") + std::string(any_order);
}

}  // namespace stretto
