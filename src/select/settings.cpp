// SPDX-License-Identifier: Apache-2.0
#include "select/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace stretto {
namespace {

constexpr std::string_view prefix = "STRETTO_";

/// Variables with our prefix that are meant for the tools, not for the library.
bool is_for_tools(std::string_view name) {
  return name == "STRETTO_LIB_DIR" || name == "STRETTO_MPI_PREFIXES";
}

bool parse_switch(std::string_view name, std::string_view value, Settings& settings) {
  if (value == "1") return true;
  if (!value.empty() && value != "0") {
    settings.complaints.push_back(std::string(name) + "=" + std::string(value) +
                                  ": must be 0 or 1; taken as 0");
  }
  return false;
}

void parse_variable(std::string_view name, std::string_view value, Settings& settings) {
  if (name == "STRETTO_DISABLE") {
    settings.disabled = parse_switch(name, value, settings);
  } else if (name == "STRETTO_STRICT") {
    settings.strict = parse_switch(name, value, settings);
  } else if (name == "STRETTO_STATS") {
    settings.statistics_file = value;
  } else if (name == "STRETTO_ALLREDUCE") {
    if (value.empty() || value == "auto") return;
    try {
      settings.allreduce = parse_spec(Collective::allreduce, value);
    } catch (const SpecError& error) {
      settings.complaints.push_back("STRETTO_ALLREDUCE: " + std::string(error.what()) +
                                    "; the MPI library's own is used");
      settings.allreduce = Spec{};
    }
  } else if (!is_for_tools(name)) {
    settings.complaints.push_back(std::string(name) +
                                  ": there is no such setting; there are STRETTO_ALLREDUCE, STRETTO_DISABLE, "
                                  "STRETTO_STATS, STRETTO_STRICT");
  }
}

}  // namespace

std::string settings_text() {
  std::vector<std::string> lines;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view line(*variable);
    if (line.starts_with(prefix) && line.find('\n') == std::string_view::npos) lines.emplace_back(line);
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

Settings parse_settings(const std::string& text) {
  Settings settings;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos)
      parse_variable(line.substr(0, equals), line.substr(equals + 1), settings);
  }
  return settings;
}

}  // namespace stretto
