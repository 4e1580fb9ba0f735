// SPDX-License-Identifier: Apache-2.0
#include "select/spec.hpp"

#include <array>
#include <charconv>
#include <cstdint>

namespace stretto {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};

/// Largest first, as sizes are written in the largest unit that divides them.
constexpr std::array<Unit, 3> units{{{"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}}};

std::string quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

/// Cuts off and returns what stands before the first `separator`.
std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return part;
}

std::uint64_t parse_number(std::string_view spec, std::string_view key, std::string_view text,
                           std::uint64_t most, bool is_size) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  bool readable = status == std::errc{};
  for (const Unit& unit : units) {
    if (!is_size || rest != unit.name || value > most / unit.bytes) continue;
    value *= unit.bytes;
    rest = {};
  }
  readable = readable && rest.empty() && value >= 1 && value <= most;
  if (readable) return value;
  throw SpecError("spec " + quoted(spec) + ": " + std::string(key) + " must be a whole number from 1 to " +
                  std::to_string(most) + (is_size ? ", or a size such as 256KiB" : "") + ", not " +
                  quoted(text));
}

const Algorithm* parse_algorithm(Collective collective, std::string_view spec, std::string_view name) {
  if (name == "native") return nullptr;
  if (const Algorithm* algorithm = find_algorithm(collective, name)) return algorithm;
  std::string known = "native";
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective == collective) known += ", " + std::string(algorithm.name);
  }
  throw SpecError("spec " + quoted(spec) + ": there is no " + std::string(name_of(collective)) +
                  " algorithm " + quoted(name) + "; there are " + known);
}

std::string size_text(std::size_t bytes) {
  for (const Unit& unit : units) {
    if (bytes % unit.bytes == 0) return std::to_string(bytes / unit.bytes) + std::string(unit.name);
  }
  return std::to_string(bytes);
}

}  // namespace

Spec parse_spec(Collective collective, std::string_view text) {
  constexpr std::uint64_t most_segments = 32768;  // as many as there are tags
  std::string_view rest = text;
  Spec spec{.algorithm = parse_algorithm(collective, text, take_until(rest, ':')), .pipelining = {}};
  while (!rest.empty() || text.ends_with(':')) {
    std::string_view value = take_until(rest, ':');
    const std::string_view key = take_until(value, '=');
    if (key == "segments") {
      spec.pipelining.segments = static_cast<int>(parse_number(text, key, value, most_segments, false));
    } else if (key == "segment_bytes") {
      spec.pipelining.segment_bytes = parse_number(text, key, value, Pipelining::most_segment_bytes, true);
    } else if (key == "window") {
      spec.pipelining.window = static_cast<int>(parse_number(text, key, value, most_segments, false));
    } else {
      throw SpecError("spec " + quoted(text) + ": there is no setting " + quoted(key) +
                      "; there are segments, segment_bytes, window");
    }
    if (rest.empty()) break;
  }
  if (spec.pipelining.segments > 0 && spec.pipelining.segment_bytes > 0) {
    throw SpecError("spec " + quoted(text) + ": give segments or segment_bytes, not both");
  }
  return spec;
}

std::string to_string(const Spec& spec) {
  std::string text(spec.is_native() ? "native" : spec.algorithm->name);
  const Pipelining& pipelining = spec.pipelining;
  if (pipelining.segments > 0) text += ":segments=" + std::to_string(pipelining.segments);
  if (pipelining.segment_bytes > 0) text += ":segment_bytes=" + size_text(pipelining.segment_bytes);
  if (pipelining.window > 0) text += ":window=" + std::to_string(pipelining.window);
  return text;
}

}  // namespace stretto
