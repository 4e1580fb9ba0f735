// SPDX-License-Identifier: Apache-2.0
#include "select/table_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "text/home_folder.hpp"
#include "text/json_reader.hpp"
#include "text/read_text.hpp"

namespace stretto {
namespace {

/// Returns the path in a variable if it is absolute, as the XDG base directory specification requires; else
/// nothing.
std::string folder_in(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value == '/' ? value : "";
}

}  // namespace

std::string default_table_path(std::string_view family) {
  std::string folder = folder_in("XDG_CONFIG_HOME");
  if (folder.empty()) {
    folder = home_folder();
    if (folder.empty()) return {};
    folder += "/.config";
  }
  return folder + "/stretto/table-" + std::string(family) + ".json";
}

TableFile read_table_file(const std::string& setting, std::string_view family) {
  if (setting == "none" || (setting.empty() && family.empty())) return {};
  TableFile file{.path = setting.empty() ? default_table_path(family) : setting, .text = {}, .error = {}};
  std::error_code failed;
  const auto kind = std::filesystem::status(file.path, failed).type();
  if (setting.empty() && kind == std::filesystem::file_type::not_found) return {};
  if (kind == std::filesystem::file_type::not_found) {
    file.error = "there is no such file";
  } else if (kind != std::filesystem::file_type::regular) {
    // A pipe might never end.
    file.error = failed ? failed.message() : "is not a file";
  } else {
    std::ifstream stream(file.path, std::ios::binary);
    // Reads one byte more than a table may have, so that its reader can say that it is too long.
    file.text = read_text(stream, JsonText::most_text + 1);
    if (!stream.is_open() || stream.bad()) file.error = "cannot be read";
  }
  return file;
}

}  // namespace stretto
