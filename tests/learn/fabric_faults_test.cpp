// SPDX-License-Identifier: Apache-2.0
// Errors in the file of a fabric, and values that must never get into one.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "learn/fabrics/fabric.hpp"
#include "learn/network/probe.hpp"
#include "text/json_reader.hpp"

namespace stretto {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();
const std::vector<double> no_times{0, -1, -1e-300, nan, -nan, infinite, -infinite, 1e300, 5e-324};

const FabricIdentity identity{
    .mpi = "Open MPI 4.1.4", .network = "", .processor = "Some CPU", .hosts = "node#"};

MeasuredNetwork network() {
  MeasuredNetwork measured{.machine = {}, .nodes = 3, .ppn = 2, .when = "2026-11-24"};
  measured.machine.name = "probed";
  Protocol row;
  row.latency = 1e-5;
  row.bandwidth = 1e9;
  row.core = 4e9;
  for (std::vector<Protocol>& level : measured.machine.levels) level = {row};
  measured.machine.node.bandwidth = 2e9;
  measured.machine.reduction = {{.from = 0, .bandwidth = 1e10}};
  measured.machine.engine_message = 1e-6;
  return measured;
}

std::string error_of(const std::string& text) {
  try {
    const Fabric fabric(text, identity);
    return {};
  } catch (const FormatError& error) {
    return error.what();
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string text_of(const MeasuredNetwork& measured) {
  Fabric fabric(identity);
  fabric.keep(measured);
  return fabric.text();
}

TEST(FabricFaults, WhatWasMeasuredIsReadAsItWasWritten) {
  const std::string text = text_of(network());
  const Fabric again(text, identity);
  ASSERT_TRUE(again.measured().has_value());
  EXPECT_EQ(again.measured()->nodes, 3);
  EXPECT_EQ(again.measured()->ppn, 2);
  EXPECT_EQ(again.measured()->when, "2026-11-24");
  EXPECT_EQ(again.measured()->machine.levels[2][0].bandwidth, 1e9);
  EXPECT_EQ(again.text(), text);
}

TEST(FabricFaults, AWrongMeasurementIsRefusedByItsPlace) {
  const std::string text = text_of(network());
  struct Fault {
    std::string from;
    std::string to;
    std::string place;
  };
  std::string rows;
  for (int row = 0; row < 70; ++row) {
    rows += R"({"from": )" + std::to_string(row) + R"(, "latency": 1, "bandwidth": 1},)";
  }
  const std::string network_rows = R"("network": [)";
  const std::vector<Fault> faults{
      {R"("nodes": 3)", R"("nodes": "three")", "measured.nodes"},
      {R"("nodes": 3)", R"("nodes": -3)", "measured.nodes"},
      {R"("nodes": 3)", R"("nodes": 3.5)", "measured.nodes"},
      {R"("nodes": 3)", R"("nodes": 1e300)", "measured.nodes"},
      {R"("ppn": 2)", R"("ppn": 0)", "measured.ppn"},
      {R"("ppn": 2)", R"("ppn": null)", "measured.ppn"},
      {R"("when": "2026-11-24")", R"("when": 20261124)", "measured.when"},
      {R"("when": "2026-11-24")", R"("when": ")" + std::string(1000, '9') + '"', "measured.when"},
      {R"("when": "2026-11-24")", R"("then": "2026-11-24")", "measured"},
      {R"("latency": 1e-05)", R"("latency": -1e-05)", "measured.machine.levels"},
      {R"("latency": 1e-05)", R"("latency": "1e-05")", "measured.machine.levels"},
      {R"("latency": 1e-05)", R"("latency": 1e300)", "measured.machine.levels"},
      {R"("latency": 1e-05)", R"("latency": 1e999)", ""},
      {R"("latency": 1e-05)", R"("latency": NaN)", ""},
      {R"("latency": 1e-05)", R"("latency": Infinity)", ""},
      {R"("bandwidth": 1000000000.0)", R"("bandwidth": 0)", "measured.machine.levels"},
      {R"("bandwidth": 1000000000.0)", R"("bandwidth": null)", "measured.machine.levels"},
      {R"("core": 4000000000.0)", R"("core": [])", "measured.machine.levels"},
      {R"("message": 1e-06)", R"("message": -1)", "measured.machine.engine.message"},
      {network_rows, network_rows + rows, "measured.machine.levels.network"},
      {R"("measured": {)", R"("measured": [{)", ""},
      {R"("machine": {)", R"("machine": 1, "more": {)", "measured.machine"},
      {R"("name": "probed")", R"("name": ")" + std::string(5000, 'x') + '"', "measured.machine.name"},
  };
  for (const Fault& fault : faults) {
    const std::string error = error_of(replaced(text, fault.from, fault.to));
    EXPECT_NE(error, "") << fault.to;
    EXPECT_NE(error.find(fault.place), std::string::npos) << error << " for " << fault.to;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    EXPECT_LT(error.size(), 500) << error;
  }
}

TEST(FabricFaults, AHugeListIsRefused) {
  const std::string text = Fabric(identity).text();
  std::string list = "0";
  for (int i = 0; i < 300'000; ++i) list += ",0";
  EXPECT_NE(error_of(replaced(text, "\"decisions\": []", "\"decisions\": [" + list + "]")), "");
  EXPECT_NE(error_of(replaced(text, "\"decisions\": []",
                              "\"decisions\": " + std::string(100'000, '[') + std::string(100'000, ']'))),
            "");
}

/// Any figure of the machine may be an invalid number.
TEST(FabricFaults, AMeasurementThatIsNoneIsNotKept) {
  const std::vector<std::function<double&(Machine&)>> figures{
      [](Machine& machine) -> double& { return machine.levels[2][0].latency; },
      [](Machine& machine) -> double& { return machine.levels[0][0].bandwidth; },
      [](Machine& machine) -> double& { return machine.levels[1][0].core; },
      [](Machine& machine) -> double& { return machine.node.bandwidth; },
      [](Machine& machine) -> double& { return machine.reduction[0].bandwidth; },
      [](Machine& machine) -> double& { return machine.engine_message; },
  };
  for (const auto& figure : figures) {
    for (const double wrong : no_times) {
      Fabric fabric(identity);
      fabric.keep(network());
      MeasuredNetwork measured = network();
      figure(measured.machine) = wrong;
      fabric.keep(measured);
      EXPECT_EQ(error_of(fabric.text()), "") << wrong;
      // The fabric keeps either the earlier measurement, or the new one without this figure.
      ASSERT_TRUE(fabric.measured().has_value());
      Machine kept = fabric.measured()->machine;
      EXPECT_GE(figure(kept), 0) << wrong;
      EXPECT_LE(figure(kept), 1e15) << wrong;
    }
  }
}

TEST(FabricFaults, ADecisionKeepsOnlyFiguresThatAreSome) {
  for (const double wrong : no_times) {
    Fabric fabric(identity);
    fabric.keep({.kind = {.nodes = 2, .from = 1024},
                 .spec = parse_spec(Collective::allreduce, "ring"),
                 .gain = wrong,
                 .seconds = wrong,
                 .bytes = 1024,
                 .when = ""});
    EXPECT_EQ(error_of(fabric.text()), "") << wrong;
    EXPECT_EQ(Fabric(fabric.text(), identity).decisions().size(), 1) << wrong;
  }
}

/// A clock that jumps while the network is measured: the fit can be read again, or is not kept.
TEST(FabricFaults, TheProbeOfAClockThatJumpsLeavesAFileThatCanBeRead) {
  for (const std::vector<int>& labels : {std::vector{0, 1}, {0, 0, 1, 1}, {0, 0, 0}, {0, 1, 2}}) {
    const Topology topology = Topology::from_labels(labels);
    for (const double wrong : no_times) {
      // The wrong time is in all steps, or in a single step.
      for (std::size_t step = 0; step <= probe_step_count; ++step) {
        ProbeFigures figures{};
        for (std::size_t i = 0; i < probe_step_count; ++i) {
          const bool is_wrong = step == probe_step_count || i == step;
          const ProbeStep& one = probe_steps.at(i);
          const double usual = 1e-5 + static_cast<double>(one.call_bytes()) / 1e9;
          figures.at(i) = is_wrong ? wrong : is_measurable(one, topology) ? usual : 0;
        }
        const MeasuredNetwork measured{
            .machine = fit_probe(figures, {.short_seconds = wrong, .long_seconds = 1e-10}, topology),
            .nodes = topology.nodes,
            .ppn = topology.max_ppn,
            .when = ""};
        EXPECT_EQ(error_of(text_of(measured)), "") << wrong << " in step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace stretto
