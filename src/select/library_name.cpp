// SPDX-License-Identifier: Apache-2.0
#include "select/library_name.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace stretto {
namespace {

struct Family {
  std::string_view name;
  std::string_view label;
  /// The text before the version, in MPI_Get_library_version and in our own spelling.
  std::array<std::string_view, 2> starts;
};

constexpr std::array<Family, 4> families{{
    {"openmpi", "Open MPI", {"Open MPI v", "Open MPI "}},
    {"mpich", "MPICH", {"MPICH Version:", "MPICH "}},
    {"intelmpi", "Intel MPI", {"Intel(R) MPI Library ", "Intel MPI "}},
    // A job without MPI (mpi/own_network.hpp).
    {"sockets", "Stretto sockets", {"Stretto sockets ", "Stretto sockets "}},
}};

constexpr std::size_t most_version = 40;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Returns the version with which the text begins, such as 4.1.4 or 5.0.0rc2; empty if there is none.
std::string_view version_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (text.empty() || !is_digit(text.front())) return {};
  const auto belongs = [](char letter) {
    return is_digit(letter) || letter == '.' || (letter >= 'a' && letter <= 'z');
  };
  std::size_t length = 0;
  while (length < text.size() && length < most_version && belongs(text[length])) ++length;
  return text.substr(0, length);
}

}  // namespace

std::optional<LibraryName> parse_library_name(std::string_view text) {
  for (const Family& family : families) {
    for (const std::string_view start : family.starts) {
      if (!text.starts_with(start)) continue;
      if (const std::string_view version = version_at(text.substr(start.size())); !version.empty()) {
        return LibraryName{family.name, std::string(family.label) + ' ' + std::string(version)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace stretto
