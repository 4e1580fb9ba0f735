// SPDX-License-Identifier: Apache-2.0
#include "model/machine_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "text/json_reader.hpp"

namespace stretto {
namespace {

std::string machine_with(const std::string& rest) {
  return R"({"format": "stretto-machine", "version": 1, "name": "m", )" + rest + "}";
}

std::string error_of(const std::string& text) {
  try {
    parse_machine(text);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

TEST(MachineText, IsReadWhole) {
  const Machine machine = parse_machine(machine_with(R"(
    "description": "eight nodes",
    "levels": {
      "node": [{"from": 0, "latency": 1e-6, "bandwidth": 5e9}],
      "network": [{"from": 0, "latency": 2e-6, "bandwidth": 1e9},
                  {"from": "64KiB", "latency": 5e-6, "bandwidth": 2e9, "synchronous": true,
                   "duplex": 0.9, "exchange": 0}]},
    "limits": {"node": {"bandwidth": 3e9, "message_rate": 1e6, "burst": "256KiB"},
               "memory": {"bandwidth": 2e10}, "fabric": {"message_rate": 5e6}},
    "reduction": [{"from": 0, "bandwidth": 3e10}, {"from": "16MiB", "bandwidth": 1e10}],
    "engine": {"message": 3e-7, "round": 1e-7},
    "notes": {"anything": [1, {"goes": null}]})"));
  EXPECT_EQ(machine.name, "m");
  EXPECT_EQ(machine.description, "eight nodes");
  EXPECT_EQ(machine.protocol(Level::network, 65535).latency, 2e-6);
  EXPECT_FALSE(machine.protocol(Level::network, 65535).synchronous);
  const Protocol& large = machine.protocol(Level::network, 65536);
  EXPECT_TRUE(large.synchronous);
  EXPECT_EQ(large.bandwidth, 2e9);
  EXPECT_EQ(large.duplex, 0.9);
  EXPECT_EQ(large.exchange, 0);
  // A missing socket level is like the node level.
  EXPECT_EQ(machine.protocol(Level::socket, 1).latency, 1e-6);
  EXPECT_EQ(machine.node.burst, 262144);
  EXPECT_EQ(machine.memory.bandwidth, 2e10);
  EXPECT_EQ(machine.fabric.bandwidth, 0);
  EXPECT_EQ(machine.reduction_seconds(16 << 20), 1e-10);
  EXPECT_EQ(machine.engine_round, 1e-7);
}

TEST(MachineText, CopiesOfDeviceMemoryAreReadAndWritten) {
  const std::string levels = R"("levels": {"node": [{"from": 0, "latency": 1e-6, "bandwidth": 5e9}]})";
  EXPECT_FALSE(parse_machine(machine_with(levels)).device);
  const Machine machine = parse_machine(
      machine_with(levels + R"(, "device": {"latency": 1e-5, "to_host": 2e10, "to_device": 1e10})"));
  ASSERT_TRUE(machine.device);
  EXPECT_EQ(machine.device->seconds(1e10, true), 1e-5 + 0.5);
  EXPECT_EQ(machine.device->seconds(1e10, false), 1e-5 + 1);
  auto json = json_of(machine);
  json["format"] = "stretto-machine";
  json["version"] = 1;
  EXPECT_EQ(parse_machine(json.dump()).device->to_device, 1e10);
  EXPECT_NE(error_of(machine_with(levels + R"(, "device": {"to_host": 2e10})")).find("to_device"),
            std::string::npos);
}

TEST(MachineText, SharedMemoryIsReadAndWritten) {
  const std::string levels = R"("levels": {"node": [{"from": 0, "latency": 1e-6, "bandwidth": 5e9}]})";
  EXPECT_FALSE(parse_machine(machine_with(levels)).shared);
  const Machine machine = parse_machine(machine_with(levels + R"(, "shared": {"latency": 2e-7, "piece": 1e-7,
    "write": [{"from": 0, "bandwidth": 2e10}, {"from": "1MiB", "bandwidth": 1e10}],
    "read": [{"from": 0, "bandwidth": 1e10}], "reduce": [{"from": 0, "bandwidth": 5e9}]})"));
  ASSERT_TRUE(machine.shared);
  // Four pieces of 4 KiB.
  EXPECT_DOUBLE_EQ(machine.shared->write_seconds(16384, 16384), 4e-7 + 16384 / 2e10);
  EXPECT_DOUBLE_EQ(machine.shared->write_seconds(16384, 1 << 20), 4e-7 + 16384 / 1e10);
  EXPECT_DOUBLE_EQ(machine.shared->read_seconds(40, 40, Distance::cache), 1e-7 + 40 / 1e10);
  EXPECT_DOUBLE_EQ(machine.shared->reduce_seconds(1 << 20, 1 << 20, Distance::node),
                   32 * 1e-7 + (1 << 20) / 5e9);
  nlohmann::ordered_json written = json_of(machine);
  written["format"] = "stretto-machine";
  written["version"] = 1;
  EXPECT_EQ(json_of(parse_machine(written.dump())), json_of(machine));
  EXPECT_NE(error_of(machine_with(levels + R"(, "shared": {"latency": 0, "piece": 0, "write": []})"))
                .find("shared"),
            std::string::npos);
}

TEST(MachineText, OneNodeIsAMachine) {
  const Machine machine = parse_machine(
      machine_with(R"("levels": {"socket": [{"from": 0, "latency": 1e-6, "bandwidth": 5e9}]})"));
  for (const Level level : {Level::socket, Level::node, Level::network}) {
    EXPECT_EQ(machine.protocol(level, 100).bandwidth, 5e9);
  }
  EXPECT_EQ(machine.reduction_seconds(100), 0);
}

TEST(MachineText, LinesOfANodeAreReadByDistance) {
  const std::string levels = R"("levels": {"node": [{"from": 0, "latency": 1e-6, "bandwidth": 5e9}]},
    "limits": {"memory": {"bandwidth": 2e11, "from": "2MiB"}})";
  const Machine machine =
      parse_machine(machine_with(levels + R"(, "shared": {"latency": 2e-7, "piece": 1e-8, "line": 4e-9,
    "write": [{"from": 0, "bandwidth": 2e10}], "read": [{"from": 0, "bandwidth": 1e10}],
    "reduce": [{"from": 0, "bandwidth": 5e9}],
    "lines": {"cache": {"latency": 2e-8, "bandwidth": 3e10}, "socket": {"latency": 1e-7, "bandwidth": 1e9}}})"));
  const SharedMemory& shared = *machine.shared;
  EXPECT_EQ(shared.lines_at(Distance::cache).latency, 2e-8);
  EXPECT_EQ(shared.lines_at(Distance::socket).bandwidth, 1e9);
  EXPECT_EQ(shared.lines_at(Distance::node).latency, 2e-7);
  EXPECT_EQ(machine.memory.from, 2 << 20);
  // Eight bytes take a line. A message that does not fit into a line takes a piece.
  EXPECT_DOUBLE_EQ(shared.read_seconds(8, 8, Distance::socket), 4e-9 + 64 / 1e9);
  EXPECT_DOUBLE_EQ(shared.overhead(96), 1e-8);
  EXPECT_DOUBLE_EQ(shared.overhead(8192), 2e-8);
  EXPECT_DOUBLE_EQ(shared.overhead_of_reader(8192), 8e-9);
  EXPECT_DOUBLE_EQ(shared.read_seconds(8192, 8192, Distance::socket), 2e-8 + (8192 + 2 * 64) / 1e9);
  EXPECT_DOUBLE_EQ(shared.read_seconds(8192, 8192, Distance::cache), 2e-8 + 8192 / 1e10);
  EXPECT_DOUBLE_EQ(shared.reduce_seconds(8192, 8192, Distance::node), 2e-8 + 8192 / 5e9);
  nlohmann::ordered_json written = json_of(machine);
  written["format"] = "stretto-machine";
  written["version"] = 1;
  EXPECT_EQ(json_of(parse_machine(written.dump())), json_of(machine));
}

TEST(MachineText, SaysWhatIsWrongAndWhere) {
  const auto levels = [](const std::string& rows) {
    return error_of(machine_with(R"("levels": {"network": [)" + rows + "]}"));
  };
  EXPECT_EQ(levels(""), "levels.network: expected at least one row");
  EXPECT_EQ(levels(R"({"from": 1, "latency": 1e-6, "bandwidth": 1e9})"),
            "levels.network[0].from: expected 0 in the first row");
  EXPECT_EQ(levels(R"({"from": 0, "latency": 1e-6, "bandwidth": 1e9},
                      {"from": 0, "latency": 1e-6, "bandwidth": 1e9})"),
            "levels.network[1].from: expected more than in the row before");
  EXPECT_NE(levels(R"({"from": 0, "latency": -1, "bandwidth": 1e9})").find("levels.network[0].latency"),
            std::string::npos);
  EXPECT_NE(levels(R"({"from": 0, "latency": 1e-6, "bandwidth": 0})").find("levels.network[0].bandwidth"),
            std::string::npos);
  EXPECT_NE(levels(R"({"from": 0, "latency": 1e-6, "bandwidth": 1, "exchange": 2})").find("exchange"),
            std::string::npos);
  EXPECT_EQ(error_of(machine_with(R"("levels": {})")),
            "levels: expected at least one of socket, node and network");
  EXPECT_NE(error_of("{").size(), 0U);
  EXPECT_NE(error_of(R"({"format": "stretto-table", "version": 1})").find("format"), std::string::npos);
  EXPECT_NE(error_of(machine_with(R"("levels": {"network": [{"from": 0, "latency": 0, "bandwidth": 1}]},
                                     "duplex": 1)"))
                .find("duplex"),
            std::string::npos);
}

}  // namespace
}  // namespace stretto
