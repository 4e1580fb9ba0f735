// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace stretto {

/// The file of a table. One rank reads it.
struct TableFile {
  std::string path;   // empty if there is none
  std::string text;   // its content
  std::string error;  // why it cannot be read; empty if it can
};

/// Returns the default path of the table for an MPI family (select/library_name.hpp):
/// $XDG_CONFIG_HOME/stretto/table-FAMILY.json, or below $HOME/.config. Empty if neither is set, or if HOME is
/// needed and does not exist.
std::string default_table_path(std::string_view family);

/// Reads the table that STRETTO_TABLE names: a file; `none`; or, if it is empty, the file at the default
/// path, which may be missing. For an unknown family, `family` is empty.
TableFile read_table_file(const std::string& setting, std::string_view family);

}  // namespace stretto
