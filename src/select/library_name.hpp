// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stretto {

/// An MPI library for which there may be a table.
struct LibraryName {
  std::string_view family;  // openmpi, mpich or intelmpi
  std::string name;         // such as Open MPI 4.1.4

  friend bool operator==(const LibraryName&, const LibraryName&) = default;
};

/// Returns the library that a text from MPI_Get_library_version, or a name as above, describes; nothing for
/// any other library.
std::optional<LibraryName> parse_library_name(std::string_view text);

}  // namespace stretto
