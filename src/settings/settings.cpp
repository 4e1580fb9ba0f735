// SPDX-License-Identifier: Apache-2.0
#include "settings/settings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <fstream>
#include <string_view>

#include "sockets/frame.hpp"
#include "text/known_names.hpp"
#include "text/size.hpp"
#include "topology/topology_text.hpp"

namespace stretto {
namespace {

constexpr std::string_view prefix = "STRETTO_";
constexpr std::string_view topology_variable = "STRETTO_TOPOLOGY";

/// Whether the variable has our prefix but is used elsewhere: by the tools, by PyTorch's backend, or at the
/// start of a job without MPI.
bool counts_elsewhere(std::string_view name) {
  constexpr auto names = std::to_array<std::string_view>(
      {"STRETTO_CACHE", "STRETTO_INTERFACE", "STRETTO_LIB_DIR", "STRETTO_MPI_PREFIXES", "STRETTO_NETWORK",
       "STRETTO_QUIET", "STRETTO_REPLACE", "STRETTO_SECRET_FILE", "STRETTO_STORE"});
  return std::ranges::find(names, name) != names.end();
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

/// Returns the seconds; 0 if the text is empty, 0, or cannot be read. A number without a unit is in seconds.
double parse_duration(std::string_view name, std::string_view value, Settings& settings) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr auto units = std::to_array<Unit>(
      {{"", 1}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}});
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
       "taken as 0"});
  return 0;
}

/// Takes 0, `auto` or a time.
void take_watchdog(std::string_view name, std::string_view value, Settings& settings) {
  if (value.empty()) return;
  settings.watchdog = Watchdog::all_calls;
  if (value == "auto") return;
  settings.watchdog_adapts = false;
  settings.watchdog_seconds = parse_duration(name, value, settings);
  if (settings.watchdog_seconds == 0) settings.watchdog = Watchdog::off;
}

/// Returns whether timeouts adapt.
bool parse_timeout(std::string_view name, std::string_view value, Settings& settings) {
  if (value.empty() || value == "auto") return !value.empty();
  settings.complaints.push_back(
      {std::string(name), "must be auto, not \"" + std::string(value) + "\"", "it is ignored"});
  return false;
}

/// Takes 0, 1 (as much as usual) or the bytes of each rank.
void take_shared_memory(std::string_view name, std::string_view value, Settings& settings) {
  if (value.empty() || value == "1") return;
  const std::optional<std::uint64_t> bytes = parse_size(value);
  if (bytes &&
      (*bytes == 0 || (*bytes >= Settings::least_shared_memory && *bytes <= Settings::most_shared_memory))) {
    settings.shared_memory_bytes = *bytes;
    return;
  }
  settings.complaints.push_back({std::string(name),
                                 "must be 0, 1, or a size from " + size_text(Settings::least_shared_memory) +
                                     " to " + size_text(Settings::most_shared_memory) + ", not \"" +
                                     std::string(value) + "\"",
                                 "it is ignored"});
}

/// Takes 0, 1 (as usual), auto (as without a value), or the bytes of the shortest message.
void take_connections(std::string_view name, std::string_view value, Settings& settings) {
  if (value.empty() || value == "auto") return;
  if (const std::optional<std::uint64_t> bytes = parse_size(value)) {
    settings.may_connect = false;
    if (*bytes > 0) settings.connections_from = *bytes == 1 ? Settings::usual_connections_from : *bytes;
    return;
  }
  settings.complaints.push_back({std::string(name),
                                 "must be 0, 1, auto, or a size, not \"" + std::string(value) + "\"",
                                 "it is ignored"});
}

std::optional<int> parse_streams(std::string_view name, std::string_view value, Settings& settings) {
  int streams = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), streams);
  const bool is_number = status == std::errc{} && end == value.data() + value.size();
  if (is_number && streams >= 1 && streams <= most_streams) return streams;
  settings.complaints.push_back(
      {std::string(name),
       "must be from 1 to " + std::to_string(most_streams) + ", not \"" + std::string(value) + "\"",
       "it is ignored"});
  return std::nullopt;
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

void take_topology(std::string_view name, std::string_view value, Settings& settings) {
  if (value.empty()) return;
  try {
    settings.topology = parse_topology(value);
  } catch (const TopologyError& error) {
    settings.complaints.push_back({std::string(name), error.what(), "the nodes that ranks detect are used"});
  }
}

std::string parse_text(std::string_view /*name*/, std::string_view value, Settings& /*settings*/) {
  return std::string(value);
}

template <auto member, auto parse>
void take(std::string_view name, std::string_view value, Settings& settings) {
  settings.*member = parse(name, value, settings);
}

/// Takes the value unless it is empty.
template <auto member, auto parse>
void take_if_any(std::string_view name, std::string_view value, Settings& settings) {
  if (!value.empty()) take<member, parse>(name, value, settings);
}

struct Variable {
  std::string_view name;
  void (*take)(std::string_view name, std::string_view value, Settings& settings);
};

constexpr auto variables = std::to_array<Variable>({
    {"STRETTO_CHECK", take<&Settings::check, parse_switch>},
    {"STRETTO_CONNECTIONS", take_connections},
    {"STRETTO_DISABLE", take<&Settings::disabled, parse_switch>},
    {"STRETTO_FABRIC", take<&Settings::fabric_file, parse_text>},
    {"STRETTO_GPU_AWARE", take_if_any<&Settings::gpu_aware, parse_switch>},
    {"STRETTO_ONLINE", take<&Settings::online, parse_online>},
    {"STRETTO_PROGRESS_THREAD", take<&Settings::progress_thread, parse_switch>},
    {"STRETTO_REPRODUCIBLE", take<&Settings::reproducible, parse_switch>},
    {"STRETTO_SHM", take_shared_memory},
    {"STRETTO_START_LIMIT", take_if_any<&Settings::start_limit_seconds, parse_duration>},
    {"STRETTO_STATS", take<&Settings::statistics_file, parse_text>},
    {"STRETTO_STREAMS", take_if_any<&Settings::streams, parse_streams>},
    {"STRETTO_STRICT", take<&Settings::strict, parse_switch>},
    {"STRETTO_SUMMARY", take<&Settings::summary, parse_summary>},
    {"STRETTO_TABLE", take<&Settings::table_file, parse_text>},
    {"STRETTO_TIMEOUT", take<&Settings::timeout_adapts, parse_timeout>},
    {topology_variable, take_topology},
    {"STRETTO_TRACE", take<&Settings::trace_folder, parse_text>},
    {"STRETTO_WATCHDOG", take_watchdog},
});

std::vector<std::string> known_variables() {
  std::vector<std::string> names;
  names.reserve(variables.size() + collectives.size());
  for (const Variable& variable : variables) names.emplace_back(variable.name);
  for (const Collective collective : collectives) names.push_back(variable_of(collective));
  return names;
}

void parse_variable(std::string_view name, std::string_view value, Settings& settings) {
  for (const Collective collective : collectives) {
    if (name == variable_of(collective)) return parse_forced(collective, value, settings);
  }
  const auto* const known = std::ranges::find(variables, name, &Variable::name);
  if (known != variables.end()) return known->take(name, value, settings);
  if (counts_elsewhere(name)) return;
  settings.complaints.push_back({std::string(name),
                                 "there is no such setting" + known_names_text(name, known_variables()),
                                 "it is ignored"});
}

/// Returns the content of a topology file on one line; the value itself if it is not the path of a file.
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
