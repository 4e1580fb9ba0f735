// SPDX-License-Identifier: Apache-2.0
#include "settings/settings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <fstream>
#include <string_view>

#include "text/size.hpp"
#include "topology/topology_text.hpp"

namespace stretto {
namespace {

constexpr std::string_view prefix = "STRETTO_";
constexpr std::string_view topology_variable = "STRETTO_TOPOLOGY";

/// Variables with our prefix for the tools, not for the library.
bool is_for_tools(std::string_view name) {
  return name == "STRETTO_CACHE" || name == "STRETTO_LIB_DIR" || name == "STRETTO_MPI_PREFIXES";
}

bool parse_switch(std::string_view name, std::string_view value, Settings& settings) {
  if (value == "1") return true;
  if (!value.empty() && value != "0") {
    settings.complaints.push_back(
        {std::string(name), "must be 0 or 1, not \"" + std::string(value) + "\"", "taken as 0"});
  }
  return false;
}

Online parse_online(std::string_view name, std::string_view value, Settings& settings) {
  if (value == "0") return Online::off;
  if (value == "freeze") return Online::freeze;
  if (!value.empty() && value != "1") {
    settings.complaints.push_back(
        {std::string(name), "must be 0, 1 or freeze, not \"" + std::string(value) + "\"", "it is ignored"});
  }
  return Online::guard;
}

Summary parse_summary(std::string_view name, std::string_view value, Settings& settings) {
  if (value == "1") return Summary::all;
  if (value == "large") return Summary::large;
  if (!value.empty() && value != "0") {
    settings.complaints.push_back(
        {std::string(name), "must be 0, 1 or large, not \"" + std::string(value) + "\"", "taken as 0"});
  }
  return Summary::none;
}

/// Seconds; 0 if the text is empty, 0, or cannot be read.
double parse_duration(std::string_view name, std::string_view value, Settings& settings) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr std::array<Unit, 4> units{{{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}}};
  if (value.empty() || value == "0") return 0;
  double number = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
  const std::string_view rest = value.substr(static_cast<std::size_t>(end - value.data()));
  for (const Unit& unit : units) {
    if (status == std::errc{} && rest == unit.name && number > 0 && number < 1e9)
      return number * unit.seconds;
  }
  settings.complaints.push_back(
      {std::string(name), "must be a time such as 30s, 500ms or 5min, not \"" + std::string(value) + "\"",
       "there is none"});
  return 0;
}

/// 0, 1 (as much as usual) or the bytes of each rank.
void parse_shared_memory(std::string_view value, Settings& settings) {
  if (value.empty() || value == "1") return;
  const std::optional<std::uint64_t> bytes = parse_size(value);
  if (bytes &&
      (*bytes == 0 || (*bytes >= Settings::least_shared_memory && *bytes <= Settings::most_shared_memory))) {
    settings.shared_memory_bytes = *bytes;
    return;
  }
  settings.complaints.push_back({"STRETTO_SHM",
                                 "must be 0, 1, or a size from " + size_text(Settings::least_shared_memory) +
                                     " to " + size_text(Settings::most_shared_memory) + ", not \"" +
                                     std::string(value) + "\"",
                                 "it is ignored"});
}

void parse_forced(Collective collective, std::string_view value, Settings& settings) {
  if (value.empty() || value == "auto") return;
  try {
    settings.forced_for(collective) = parse_spec(collective, value);
  } catch (const SpecError& error) {
    settings.complaints.push_back({variable_of(collective), error.what(), "the MPI default is used"});
    settings.forced_for(collective) = Spec{};
  }
}

void parse_topology_setting(std::string_view value, Settings& settings) {
  if (value.empty()) return;
  try {
    settings.topology = parse_topology(value);
  } catch (const TopologyError& error) {
    settings.complaints.push_back(
        {std::string(topology_variable), error.what(), "the nodes that ranks detect are used"});
  }
}

std::string known_variables() {
  std::string names =
      "STRETTO_CHECK, STRETTO_DISABLE, STRETTO_FABRIC, STRETTO_GPU_AWARE, STRETTO_ONLINE, "
      "STRETTO_PROGRESS_THREAD, STRETTO_REPRODUCIBLE, STRETTO_SHM, "
      "STRETTO_START_LIMIT, STRETTO_STATS, STRETTO_STRICT, STRETTO_SUMMARY, STRETTO_TABLE, STRETTO_TOPOLOGY, "
      "STRETTO_TRACE, "
      "STRETTO_WATCHDOG";
  for (const Collective collective : collectives) names += ", " + variable_of(collective);
  return names;
}

void parse_variable(std::string_view name, std::string_view value, Settings& settings) {
  for (const Collective collective : collectives) {
    if (name == variable_of(collective)) return parse_forced(collective, value, settings);
  }
  if (name == "STRETTO_DISABLE") {
    settings.disabled = parse_switch(name, value, settings);
  } else if (name == "STRETTO_STRICT") {
    settings.strict = parse_switch(name, value, settings);
  } else if (name == "STRETTO_REPRODUCIBLE") {
    settings.reproducible = parse_switch(name, value, settings);
  } else if (name == "STRETTO_PROGRESS_THREAD") {
    settings.progress_thread = parse_switch(name, value, settings);
  } else if (name == "STRETTO_SHM") {
    parse_shared_memory(value, settings);
  } else if (name == "STRETTO_ONLINE") {
    settings.online = parse_online(name, value, settings);
  } else if (name == "STRETTO_CHECK") {
    settings.check = parse_switch(name, value, settings);
  } else if (name == "STRETTO_GPU_AWARE") {
    if (!value.empty()) settings.gpu_aware = parse_switch(name, value, settings);
  } else if (name == "STRETTO_START_LIMIT") {
    if (!value.empty()) settings.start_limit_seconds = parse_duration(name, value, settings);
  } else if (name == "STRETTO_WATCHDOG") {
    settings.watchdog_seconds = parse_duration(name, value, settings);
  } else if (name == "STRETTO_STATS") {
    settings.statistics_file = value;
  } else if (name == "STRETTO_SUMMARY") {
    settings.summary = parse_summary(name, value, settings);
  } else if (name == "STRETTO_TRACE") {
    settings.trace_folder = value;
  } else if (name == "STRETTO_TABLE") {
    settings.table_file = value;
  } else if (name == "STRETTO_FABRIC") {
    settings.fabric_file = value;
  } else if (name == topology_variable) {
    parse_topology_setting(value, settings);
  } else if (!is_for_tools(name)) {
    settings.complaints.push_back(
        {std::string(name), "there is no such setting; there are " + known_variables(), "it is ignored"});
  }
}

/// The content of a topology file, on one line; the value itself if it is no file.
std::string read_topology(const std::string& value) {
  std::ifstream file(value);
  if (!file) return value;
  std::string text;
  for (std::string line; std::getline(file, line);) text += line + ';';
  return text;
}

}  // namespace

std::string variable_of(Collective collective) {
  std::string name(prefix);
  for (const char letter : name_of(collective)) {
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return name;
}

std::string settings_text(char** environment) {
  std::vector<std::string> lines;
  for (char** variable = environment; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view line(*variable);
    if (!line.starts_with(prefix) || line.find('\n') != std::string_view::npos) continue;
    if (line.starts_with(std::string(topology_variable) + "=")) {
      const std::size_t value = topology_variable.size() + 1;
      lines.push_back(std::string(line.substr(0, value)) + read_topology(std::string(line.substr(value))));
    } else {
      lines.emplace_back(line);
    }
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
