// SPDX-License-Identifier: Apache-2.0
#include "learn/fabrics/fabric.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

#include "text/json_reader.hpp"

namespace stretto {
namespace {

const FabricIdentity identity{
    .mpi = "Open MPI 4.1.4", .network = "btl=tcp,self", .processor = "Some CPU", .hosts = "node#"};

Decision decision(std::size_t from, const std::string& spec, double gain = 1.5) {
  return {.kind = {.nodes = 8, .from = from},
          .spec = parse_spec(Collective::allreduce, spec),
          .gain = gain,
          .seconds = 1e-3,
          .bytes = from,
          .when = "2026-11-24"};
}

std::string error_of(const std::string& text, const FabricIdentity& job = identity) {
  try {
    const Fabric fabric(text, job);
    return {};
  } catch (const FormatError& error) {
    return error.what();
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

bool equal(const Decision& one, const Decision& other) {
  return one.kind == other.kind && one.spec == other.spec && one.gain == other.gain &&
         one.seconds == other.seconds && one.bytes == other.bytes && one.when == other.when;
}

TEST(Fabric, AMeasuredNetworkIsReadAsItWasWritten) {
  Fabric fabric(identity);
  MeasuredNetwork measured{.machine = {}, .nodes = 4, .ppn = 2, .when = "2026-11-24"};
  measured.machine.node_rates = {2.5e7, 6e6};
  measured.machine.shared_cores = {.nodes = 2, .cores = 4};
  Protocol row;
  row.latency = 1e-5;
  row.bandwidth = 1.2e9;
  row.core = 3e9;
  measured.machine.name = "probed";
  measured.machine.levels = {std::vector{row}, std::vector{row}, std::vector{row, row}};
  measured.machine.levels[2][1].from = 4096;
  measured.machine.node.bandwidth = 1.2e9;
  measured.machine.reduction = {{.from = 0, .bandwidth = 1e10}};
  measured.machine.engine_message = 1e-6;
  fabric.keep(measured);
  const Fabric again(fabric.text(), identity);
  ASSERT_TRUE(again.measured().has_value());
  EXPECT_EQ(again.text(), fabric.text());
  EXPECT_EQ(again.measured()->machine.node_rates, measured.machine.node_rates);
  EXPECT_EQ(again.measured()->machine.shared_cores.cores, 4);
  EXPECT_EQ(again.measured()->machine.protocol(Level::network, 5000).core, 3e9);
  EXPECT_TRUE(again.measured()->covers(8, 4));
  EXPECT_FALSE((MeasuredNetwork{.machine = {}, .nodes = 8, .ppn = 1, .when = ""}).covers(8, 2));
}

TEST(Fabric, IsReadAsItWasWritten) {
  std::mt19937 random(1);
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  const std::vector<std::string> specs{"native", "ring:segments=4"};
  for (int round = 0; round < 100; ++round) {
    Fabric fabric(identity);
    const int count = below(20);
    for (int i = 0; i < count; ++i) {
      Decision one;
      const int ppn = 1 + below(4);
      one.kind = {.nodes = 1 + below(3),
                  .min_ppn = 1 + below(ppn),
                  .max_ppn = ppn,
                  .collective = below(2) == 0 ? Collective::allreduce : Collective::allgather,
                  .form = forms.at(static_cast<std::size_t>(below(3))),
                  .in_place = below(2) == 0,
                  .from = std::size_t{1} << below(40)};
      one.spec = parse_spec(one.kind.collective, specs[static_cast<std::size_t>(below(2))]);
      one.gain = below(3);
      one.seconds = below(3) * 1e-3;
      if (one.seconds > 0) one.bytes = one.kind.from + static_cast<std::size_t>(below(1000));
      fabric.keep(one);
    }
    const Fabric again(fabric.text(), identity);
    ASSERT_EQ(again.decisions().size(), fabric.decisions().size());
    for (std::size_t i = 0; i < fabric.decisions().size(); ++i) {
      EXPECT_TRUE(equal(again.decisions()[i], fabric.decisions()[i]));
    }
    EXPECT_EQ(again.text(), fabric.text());
  }
}

TEST(Fabric, OfAnyNetworkIsRead) {
  Fabric fabric(identity);
  fabric.keep(decision(1024, "ring"));
  const Fabric again(fabric.text());
  EXPECT_EQ(again.identity(), identity);
  EXPECT_EQ(again.text(), fabric.text());
}

TEST(Fabric, ALaterDecisionReplacesAnEarlierOne) {
  Fabric fabric(identity);
  fabric.keep(decision(1024, "ring"));
  fabric.keep(decision(2048, "native"));
  fabric.keep(decision(1024, "rabenseifner"));
  ASSERT_EQ(fabric.decisions().size(), 2);
  EXPECT_EQ(to_string(fabric.find({.nodes = 8, .from = 1024})->spec), "rabenseifner");
  EXPECT_EQ(fabric.find({.nodes = 9, .from = 1024}), nullptr);
  EXPECT_EQ(fabric.find({.nodes = 8, .in_place = true, .from = 1024}), nullptr);
}

TEST(Fabric, ADroppedDecisionIsNoneUntilAnotherReplacesIt) {
  Fabric fabric(identity);
  fabric.keep(decision(1024, "ring:segment_bytes=8"));
  const CallKind kind{.nodes = 8, .from = 1024};
  EXPECT_EQ(fabric.drop({.nodes = 9, .from = 1024}), nullptr);
  const Decision dropped = *fabric.drop(kind);
  EXPECT_EQ(fabric.find(kind), nullptr);
  Fabric again(fabric.text(), identity);
  EXPECT_EQ(again.find(kind), nullptr);
  EXPECT_TRUE(again.decisions().at(0).is_dropped);
  Decision next = decision(1024, "rabenseifner");
  next.busy = 0.9;
  again.keep(next);
  EXPECT_EQ(to_string(again.find(kind)->spec), "rabenseifner");
  again.keep(dropped);  // by a job that does not know the next one
  EXPECT_EQ(to_string(again.find(kind)->spec), "rabenseifner");
}

TEST(Fabric, ADecisionThatCannotBeTrueIsDropped) {
  for (const auto& [spec, holds] : {std::pair{"ring:segment_bytes=1", false},
                                    {"ring:segments=32768", false},
                                    {"ring:segments=1000", true},
                                    {"ring:segment_bytes=1KiB", true}}) {
    Fabric fabric(identity);
    fabric.keep(decision(1 << 20, spec));
    const Fabric again(fabric.text(), identity);
    EXPECT_EQ(again.find({.nodes = 8, .from = 1 << 20}) != nullptr, holds) << spec;
  }
}

MeasuredNetwork measured_on(double busy, double rate) {
  MeasuredNetwork measured{.machine = {}, .nodes = 2, .ppn = 1, .when = "", .busy = busy};
  Protocol row;
  row.latency = 1e-5;
  row.bandwidth = rate;
  measured.machine.name = "probed";
  measured.machine.levels = {std::vector{row}, std::vector{row}, std::vector{row}};
  measured.machine.reduction = {{.from = 0, .bandwidth = 1e10}};
  measured.machine.engine_message = 1e-6;
  return measured;
}

Fabric fabric_with(const MeasuredNetwork& measured) {
  Fabric fabric(identity);
  fabric.keep(measured);
  return fabric;
}

TEST(Fabric, KeepsHowManyConnectionsAreOfUse) {
  for (const int streams : {1, 2, 8}) {
    MeasuredNetwork measured = measured_on(0, 1e8);
    measured.streams = streams;
    const Fabric fabric = fabric_with(measured);
    EXPECT_EQ(fabric.text().find("streams") != std::string::npos, streams > 1);
    EXPECT_EQ(Fabric(fabric.text(), identity).measured()->streams, streams);
  }
}

TEST(Fabric, KeepsWhatAShortCallOfTheLibraryTakes) {
  for (const double seconds : {0.0, 25e-6, 0.02}) {
    MeasuredNetwork measured = measured_on(0, 1e8);
    measured.library_seconds = seconds;
    const Fabric fabric = fabric_with(measured);
    EXPECT_EQ(fabric.text().find("library_seconds") != std::string::npos, seconds > 0);
    EXPECT_EQ(Fabric(fabric.text(), identity).measured()->library_seconds, seconds);
  }
}

TEST(Fabric, KeepsFromWhichLengthOnConnectionsAreFaster) {
  for (const std::size_t from : {std::size_t{0}, std::size_t{32768}, std::size_t{262144}}) {
    MeasuredNetwork measured = measured_on(0, 1e8);
    measured.connections_from = from;
    const Fabric fabric = fabric_with(measured);
    EXPECT_EQ(fabric.text().find("connections_from") != std::string::npos, from > 0);
    EXPECT_EQ(Fabric(fabric.text(), identity).measured()->connections_from, from);
  }
}

double rate_in(const Fabric& fabric) {
  return fabric.measured()->machine.protocol(Level::network, 0).bandwidth;
}

TEST(Fabric, WhatABusyMachineMeasuredReplacesNothingBetter) {
  Fabric fabric(identity);
  fabric.keep(measured_on(0.9, 3.5e6));
  EXPECT_EQ(rate_in(fabric), 3.5e6);
  EXPECT_TRUE(fabric.measured()->is_busy());
  fabric.keep(measured_on(0.3, 8e7));
  EXPECT_EQ(rate_in(fabric), 8e7);
  fabric.keep(measured_on(0.6, 2e7));
  EXPECT_EQ(rate_in(fabric), 8e7);
  fabric.keep(measured_on(0.01, 1.2e8));
  EXPECT_EQ(rate_in(fabric), 1.2e8);
  fabric.keep(measured_on(0.02, 1.1e8));  // as good as idle, and later
  EXPECT_EQ(rate_in(fabric), 1.1e8);
  fabric.keep(measured_on(0.3, 8e7));
  EXPECT_EQ(rate_in(fabric), 1.1e8);
  // A measurement on one node has less information than a measurement on several.
  MeasuredNetwork inside = measured_on(0, 1e9);
  inside.nodes = 1;
  fabric.keep(inside);
  EXPECT_EQ(rate_in(fabric), 1.1e8);
}

TEST(Fabric, WhatABusyMachineDecidedReplacesNothingBetter) {
  Fabric fabric(identity);
  const auto decide = [&](double busy, const char* spec) {
    Decision one = decision(1024, spec);
    one.busy = busy;
    fabric.keep(one);
    return to_string(fabric.find({.nodes = 8, .from = 1024})->spec);
  };
  EXPECT_EQ(decide(0.5, "ring"), "ring");
  EXPECT_EQ(decide(0.9, "native"), "ring");
  EXPECT_EQ(decide(0.2, "rabenseifner"), "rabenseifner");
  EXPECT_EQ(decide(0, "native"), "native");
  EXPECT_EQ(decide(0.3, "ring"), "native");
  EXPECT_EQ(decide(0.05, "ring"), "ring");
}

TEST(Fabric, HowBusyItWasIsReadAsItWasWritten) {
  Fabric fabric(identity);
  Decision one = decision(1024, "ring");
  one.busy = 0.254;
  fabric.keep(one);
  fabric.keep(measured_on(1, 1e8));
  const Fabric again(fabric.text(), identity);
  EXPECT_EQ(again.decisions().at(0).busy, 0.25);
  EXPECT_EQ(again.measured()->busy, 1);
  EXPECT_EQ(again.text(), fabric.text());
  std::string text = fabric.text();
  text.replace(text.find("0.25"), 4, "1.25");
  EXPECT_NE(error_of(text).find("busy: expected a number up to 1"), std::string::npos) << error_of(text);
  Fabric idle(identity);
  idle.keep(measured_on(0.004, 1e8));
  EXPECT_EQ(idle.text().find("busy"), std::string::npos);
}

TEST(Fabric, ForgetsTheOldestDecision) {
  Fabric fabric(identity);
  for (int nodes = 1; nodes <= 3000; ++nodes) {
    Decision one = decision(1024, "ring");
    one.kind.nodes = nodes;
    fabric.keep(one);
  }
  EXPECT_EQ(fabric.decisions().size(), Fabric::most_decisions);
  EXPECT_EQ(fabric.find({.nodes = 952, .from = 1024}), nullptr);
  EXPECT_NE(fabric.find({.nodes = 953, .from = 1024}), nullptr);
  EXPECT_EQ(error_of(fabric.text()), "");
}

TEST(Fabric, AFileOfAnotherFabricIsRefused) {
  const std::string text = Fabric(identity).text();
  FabricIdentity other = identity;
  other.mpi = "Open MPI 5.0.11";
  EXPECT_EQ(error_of(text, other),
            "fabric: mpi is \"Open MPI 4.1.4\", not \"Open MPI 5.0.11\" as in this job");
  other = identity;
  other.network = "";
  EXPECT_NE(error_of(text, other).find("network is"), std::string::npos);
  other = identity;
  other.processor = "Another CPU";
  EXPECT_NE(error_of(text, other).find("processor is"), std::string::npos);
  other = identity;
  other.hosts = "host#";
  EXPECT_NE(error_of(text, other).find("hosts is"), std::string::npos);
}

TEST(Fabric, ADamagedFileIsRefused) {
  Fabric fabric(identity);
  fabric.keep(decision(1024, "ring"));
  const std::string text = fabric.text();
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_NE(error_of(text.substr(0, length)), "") << length;
  }
  EXPECT_NE(error_of(replaced(text, "\"version\": 1", "\"version\": 2")), "");
  EXPECT_NE(error_of(replaced(text, "stretto-fabric", "stretto-table")), "");
  EXPECT_EQ(error_of(replaced(text, "1KiB", "1000")), "decisions[0].from: expected a power of two");
  EXPECT_NE(error_of(replaced(text, "\"ring\"", "\"rong\"")).find("decisions[0].spec"), std::string::npos);
  EXPECT_NE(error_of(replaced(text, "allreduce", "alltoallw")).find("decisions[0].call"), std::string::npos);
  EXPECT_NE(error_of(replaced(text, "\"gain\": 1.5", "\"gain\": -1")), "");
  EXPECT_NE(error_of(replaced(text, "\"gain\"", "\"loss\"")), "");
}

}  // namespace
}  // namespace stretto
