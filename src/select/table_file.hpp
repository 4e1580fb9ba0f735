// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace stretto {

/// The file of a table, as the one rank that reads it finds it.
struct TableFile {
  std::string path;   // empty: there is none
  std::string text;   // what it holds
  std::string error;  // why it cannot be read; empty: it can
  bool is_missing = false;
};

/// Where the table for an MPI family (select/library_name.hpp) is by default:
/// $XDG_CONFIG_HOME/stretto/table-FAMILY.json, or below $HOME/.config. Empty: neither is set.
std::string default_table_path(std::string_view family);

/// By what STRETTO_TABLE says: a file; `none`; or, if empty, the one at the default place, which need not be
/// there. An unknown family is empty.
TableFile read_table_file(const std::string& setting, std::string_view family);

/// Replaces a table as a whole, or makes one, with its folder. Returns why it could not, or an empty line.
std::string write_table_file(const std::string& path, const std::string& text);

}  // namespace stretto
