// SPDX-License-Identifier: Apache-2.0
#include "model/machine_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "text/json_reader.hpp"

namespace stretto {
namespace {

constexpr std::array<const char*, level_count> level_names{"socket", "node", "network"};
constexpr std::array<const char*, distance_count> distance_names{"cache", "socket", "node"};
constexpr std::size_t most_rows = 64;
/// The most nodes of a cluster whose rates are kept.
constexpr std::size_t most_rates = 256;
constexpr int most_nodes = 1 << 20;
constexpr int most_cores = 1 << 16;
constexpr std::size_t most_letters = 1000;
// Far beyond any network, and small enough for sums not to overflow.
constexpr double most_seconds = 1000;
constexpr double least_bandwidth = 1;
constexpr double most_bandwidth = 1e15;
constexpr double most_rate = 1e12;

double bandwidth_of(const JsonValue& value) {
  return value.number(least_bandwidth, most_bandwidth);
}

/// Reads rows that ascend by "from"; the first is from 0.
template <typename Row, typename Read>
std::vector<Row> read_rows(const JsonValue& list, const Read& read) {
  std::vector<Row> rows;
  for (const JsonValue& item : list.items(most_rows)) {
    JsonObject object = item.object();
    const JsonValue from = object.required("from");
    Row row;
    row.from = from.bytes();
    if (rows.empty() && row.from != 0) from.fail("expected 0 in the first row");
    if (!rows.empty() && row.from <= rows.back().from) from.fail("expected more than in the row before");
    read(object, row);
    object.finish();
    rows.push_back(row);
  }
  if (rows.empty()) list.fail("expected at least one row");
  return rows;
}

std::vector<Protocol> read_protocols(const JsonValue& list) {
  return read_rows<Protocol>(list, [](JsonObject& object, Protocol& row) {
    row.latency = object.required("latency").number(0, most_seconds);
    row.bandwidth = bandwidth_of(object.required("bandwidth"));
    if (const auto value = object.optional("synchronous")) row.synchronous = value->truth();
    if (const auto value = object.optional("duplex")) row.duplex = value->number(0, 1);
    if (const auto value = object.optional("exchange")) row.exchange = value->number(0, 1);
    if (const auto value = object.optional("core")) row.core = bandwidth_of(*value);
  });
}

std::vector<Rate> read_rates(const JsonValue& list) {
  return read_rows<Rate>(list, [](JsonObject& object, Rate& row) {
    row.bandwidth = bandwidth_of(object.required("bandwidth"));
  });
}

std::array<std::optional<Lines>, distance_count> read_lines(const JsonValue& value) {
  JsonObject object = value.object();
  std::array<std::optional<Lines>, distance_count> all;
  for (std::size_t i = 0; i < distance_count; ++i) {
    const auto row = object.optional(distance_names.at(i));
    if (!row) continue;
    JsonObject lines = row->object();
    all.at(i) = {.latency = lines.required("latency").number(0, most_seconds), .bandwidth = 0};
    if (const auto bandwidth = lines.optional("bandwidth")) all.at(i)->bandwidth = bandwidth_of(*bandwidth);
    lines.finish();
  }
  object.finish();
  return all;
}

SharedMemory read_shared(const JsonValue& value) {
  JsonObject object = value.object();
  SharedMemory shared;
  shared.latency = object.required("latency").number(0, most_seconds);
  shared.piece = object.required("piece").number(0, most_seconds);
  if (const auto line = object.optional("line")) shared.line = line->number(0, most_seconds);
  shared.write = read_rates(object.required("write"));
  shared.read = read_rates(object.required("read"));
  shared.reduce = read_rates(object.required("reduce"));
  if (const auto lines = object.optional("lines")) shared.lines = read_lines(*lines);
  object.finish();
  return shared;
}

Device read_device(const JsonValue& value) {
  JsonObject object = value.object();
  Device device;
  if (const auto latency = object.optional("latency")) device.latency = latency->number(0, most_seconds);
  device.to_host = bandwidth_of(object.required("to_host"));
  device.to_device = bandwidth_of(object.required("to_device"));
  object.finish();
  return device;
}

Limit read_limit(const JsonValue& value, bool has_rate, bool has_burst, std::vector<double>* rates = nullptr,
                 bool has_from = false) {
  Limit limit;
  JsonObject object = value.object();
  if (const auto bandwidth = object.optional("bandwidth")) limit.bandwidth = bandwidth_of(*bandwidth);
  if (has_rate) {
    if (const auto rate = object.optional("message_rate")) limit.message_rate = rate->number(1e-3, most_rate);
  }
  if (rates != nullptr) {
    if (const auto list = object.optional("rates")) {
      for (const JsonValue& rate : list->items(most_rates)) rates->push_back(bandwidth_of(rate));
    }
  }
  if (has_burst) {
    if (const auto burst = object.optional("burst")) limit.burst = static_cast<double>(burst->bytes());
  }
  if (has_from) {
    if (const auto from = object.optional("from")) limit.from = from->bytes();
  }
  object.finish();
  return limit;
}

/// Fills missing levels. Each is like the next higher one; a missing network is like the next lower level
/// (one node was measured).
void fill_levels(const JsonValue& place, Machine& machine) {
  auto& levels = machine.levels;
  const auto any = std::find_if(levels.begin(), levels.end(), [](const auto& rows) { return !rows.empty(); });
  if (any == levels.end()) place.fail("expected at least one of socket, node and network");
  for (std::size_t i = level_count - 1; i-- > 0;) {
    if (levels[i].empty()) levels[i] = levels[i + 1];
  }
  for (std::size_t i = 1; i < level_count; ++i) {
    if (levels[i].empty()) levels[i] = levels[i - 1];
  }
}

}  // namespace

Machine parse_machine(std::string_view text) {
  const JsonText json(text);
  JsonObject file = json.file("stretto-machine", 1);
  Machine machine = read_machine(file);
  file.finish();
  return machine;
}

Machine read_machine(JsonObject& object) {
  Machine machine;
  machine.name = object.required("name").text(most_letters);
  if (const auto description = object.optional("description")) {
    machine.description = description->text(most_letters);
  }
  const JsonValue place = object.required("levels");
  JsonObject levels = place.object();
  for (std::size_t i = 0; i < level_count; ++i) {
    if (const auto list = levels.optional(level_names.at(i))) machine.levels.at(i) = read_protocols(*list);
  }
  levels.finish();
  fill_levels(place, machine);
  if (const auto value = object.optional("limits")) {
    JsonObject limits = value->object();
    if (const auto node = limits.optional("node")) {
      machine.node = read_limit(*node, true, true, &machine.node_rates);
    }
    if (const auto memory = limits.optional("memory"))
      machine.memory = read_limit(*memory, false, false, nullptr, true);
    if (const auto fabric = limits.optional("fabric")) machine.fabric = read_limit(*fabric, true, false);
    limits.finish();
  }
  if (const auto list = object.optional("reduction")) machine.reduction = read_rates(*list);
  if (const auto shared = object.optional("shared")) machine.shared = read_shared(*shared);
  if (const auto value = object.optional("engine")) {
    JsonObject engine = value->object();
    if (const auto message = engine.optional("message")) {
      machine.engine_message = message->number(0, most_seconds);
    }
    if (const auto round = engine.optional("round")) machine.engine_round = round->number(0, most_seconds);
    engine.finish();
  }
  if (const auto value = object.optional("shared_cores")) {
    JsonObject shared = value->object();
    machine.shared_cores.nodes = static_cast<int>(shared.required("nodes").whole(1, most_nodes));
    machine.shared_cores.cores = static_cast<int>(shared.required("cores").whole(1, most_cores));
    shared.finish();
  }
  if (const auto device = object.optional("device")) machine.device = read_device(*device);
  return machine;
}

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Protocol& row) {
  Json json{{"from", row.from}, {"latency", row.latency}, {"bandwidth", row.bandwidth}};
  if (row.synchronous) json["synchronous"] = true;
  if (row.duplex != 1) json["duplex"] = row.duplex;
  if (row.exchange != 1) json["exchange"] = row.exchange;
  if (row.core > 0) json["core"] = row.core;
  return json;
}

Json json_of(const Limit& limit) {
  Json json = Json::object();
  if (limit.bandwidth > 0) json["bandwidth"] = limit.bandwidth;
  if (limit.message_rate > 0) json["message_rate"] = limit.message_rate;
  if (limit.burst > 0) json["burst"] = static_cast<std::uint64_t>(limit.burst);
  if (limit.from > 0) json["from"] = limit.from;
  return json;
}

Json json_of(const std::vector<Rate>& rates) {
  Json rows = Json::array();
  for (const Rate& row : rates) rows.push_back({{"from", row.from}, {"bandwidth", row.bandwidth}});
  return rows;
}

}  // namespace

nlohmann::ordered_json json_of(const Machine& machine) {
  Json json{{"name", machine.name}};
  if (!machine.description.empty()) json["description"] = machine.description;
  Json levels = Json::object();
  for (std::size_t i = 0; i < level_count; ++i) {
    Json rows = Json::array();
    for (const Protocol& row : machine.levels.at(i)) rows.push_back(json_of(row));
    levels[level_names.at(i)] = std::move(rows);
  }
  json["levels"] = std::move(levels);
  Json limits = Json::object();
  const auto add_limit = [&](const char* name, const Limit& limit) {
    if (Json one = json_of(limit); !one.empty()) limits[name] = std::move(one);
  };
  add_limit("node", machine.node);
  if (!machine.node_rates.empty() && machine.node_rates.size() <= most_rates) {
    limits["node"]["rates"] = machine.node_rates;
  }
  add_limit("memory", machine.memory);
  add_limit("fabric", machine.fabric);
  if (!limits.empty()) json["limits"] = std::move(limits);
  if (!machine.reduction.empty()) json["reduction"] = json_of(machine.reduction);
  if (const auto& shared = machine.shared) {
    json["shared"] = {{"latency", shared->latency},
                      {"piece", shared->piece},
                      {"write", json_of(shared->write)},
                      {"read", json_of(shared->read)},
                      {"reduce", json_of(shared->reduce)}};
    if (shared->line) json["shared"]["line"] = *shared->line;
    for (std::size_t i = 0; i < distance_count; ++i) {
      const auto& lines = shared->lines.at(i);
      if (!lines) continue;
      Json& row = json["shared"]["lines"][distance_names.at(i)] = {{"latency", lines->latency}};
      if (lines->bandwidth > 0) row["bandwidth"] = lines->bandwidth;
    }
  }
  json["engine"] = {{"message", machine.engine_message}, {"round", machine.engine_round}};
  const SharedCores& shared = machine.shared_cores;
  if (shared.cores > 0) json["shared_cores"] = {{"nodes", shared.nodes}, {"cores", shared.cores}};
  if (const auto& device = machine.device) {
    json["device"] = {
        {"latency", device->latency}, {"to_host", device->to_host}, {"to_device", device->to_device}};
  }
  return json;
}

}  // namespace stretto
