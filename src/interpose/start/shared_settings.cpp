// SPDX-License-Identifier: Apache-2.0
#include "interpose/start/shared_settings.hpp"

#include <unistd.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "interpose/session/session.hpp"
#include "select/library_name.hpp"
#include "select/table_file.hpp"
#include "text/json_reader.hpp"

namespace stretto {
namespace {

/// append() adds a text to others. take() removes and returns the first one.
void append(std::string& all, const std::string& text) {
  all += std::to_string(text.size()) + ':' + text;
}

std::string take(std::string_view& all) {
  std::size_t size = 0;
  const auto [colon, status] = std::from_chars(all.data(), all.data() + all.size(), size);
  all.remove_prefix(static_cast<std::size_t>(colon - all.data()) + 1);
  std::string text(all.substr(0, size));
  all.remove_prefix(size);
  return text;
}

void take_table(TableFile file, Settings& settings, const std::string& library) {
  if (file.path.empty()) return;
  const std::string name = (settings.table_file.empty() ? "" : "STRETTO_TABLE=") + file.path;
  const auto refuse = [&](const std::string& error) {
    settings.complaints.push_back({name, error, "the built-in rule is used"});
  };
  if (!file.error.empty()) return refuse(file.error);
  try {
    Table table = parse_table(file.text);
    const TableFit fit = find_fit(table, library);
    if (fit.is_refused) return refuse(fit.remark);
    if (!fit.remark.empty()) complain_once_on_rank_0(name + ": " + fit.remark + "; it is used anyway");
    session.table = std::move(table);
    session.table_path = std::move(file.path);
  } catch (const FormatError& error) {
    refuse(error.what());
  }
}

}  // namespace

std::string read_shared_settings(const std::string& library) {
  const std::string text = settings_text(environ);
  const Settings settings = parse_settings(text);
  TableFile file;
  if (!settings.disabled) {
    const auto name = parse_library_name(library);
    file = read_table_file(settings.table_file, name ? name->family : "");
  }
  std::string all;
  for (const std::string& part : {text, file.path, file.error, file.text}) append(all, part);
  return all;
}

Settings take_shared_settings(const std::string& text, const std::string& library) {
  std::string_view rest = text;
  Settings settings = parse_settings(take(rest));
  TableFile file;
  file.path = take(rest);
  file.error = take(rest);
  file.text = take(rest);
  take_table(std::move(file), settings, library);
  return settings;
}

}  // namespace stretto
