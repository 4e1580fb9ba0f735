// SPDX-License-Identifier: Apache-2.0
#include "settings/settings.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace stretto {
namespace {

TEST(Settings, ReadsTheVariables) {
  const Settings settings = parse_settings(
      "STRETTO_ALLREDUCE=ring:segments=4\nSTRETTO_DISABLE=0\nSTRETTO_ONLINE=1\nSTRETTO_STATS=a=b."
      "json\nSTRETTO_STRICT=1\n"
      "STRETTO_TABLE=/a b/table.json\n");
  EXPECT_EQ(to_string(settings.forced_for(Collective::allreduce).value()), "ring:segments=4");
  EXPECT_FALSE(settings.disabled);
  EXPECT_EQ(settings.online, Online::guard);
  EXPECT_TRUE(settings.strict);
  EXPECT_EQ(settings.statistics_file, "a=b.json");
  EXPECT_EQ(settings.table_file, "/a b/table.json");
  EXPECT_TRUE(settings.complaints.empty());
}

TEST(Settings, AutoAndEmptyLeaveTheChoiceToTheRule) {
  EXPECT_FALSE(parse_settings("STRETTO_ALLREDUCE=auto\n").forced_for(Collective::allreduce).has_value());
  EXPECT_FALSE(parse_settings("STRETTO_ALLREDUCE=\n").forced_for(Collective::allreduce).has_value());
}

TEST(Settings, ASummaryIsOfAllCallsOrOfLargeOnes) {
  EXPECT_EQ(parse_settings("").summary, Summary::none);
  EXPECT_EQ(parse_settings("STRETTO_SUMMARY=0\n").summary, Summary::none);
  EXPECT_EQ(parse_settings("STRETTO_SUMMARY=1\n").summary, Summary::all);
  EXPECT_EQ(parse_settings("STRETTO_SUMMARY=large\n").summary, Summary::large);
  EXPECT_EQ(parse_settings("STRETTO_SUMMARY=yes\n").complaints.size(), 1U);
}

TEST(Settings, ASpecThatCannotBeReadIsTheLibrarysOwn) {
  const Settings settings = parse_settings("STRETTO_ALLREDUCE=rnig\n");
  ASSERT_EQ(settings.complaints.size(), 1U);
  EXPECT_NE(settings.complaints[0].error.find("\"rnig\""), std::string::npos);
  EXPECT_TRUE(settings.forced_for(Collective::allreduce).value().is_pass_through());
}

TEST(Settings, ComplainsOfWhatItDoesNotKnow) {
  const Settings settings = parse_settings("STRETTO_ALREDUCE=ring\nSTRETTO_STRICT=yes\nSTRETTO_LIB_DIR=/x\n");
  ASSERT_EQ(settings.complaints.size(), 2U);
  EXPECT_EQ(settings.complaints[0].variable, "STRETTO_ALREDUCE");
  EXPECT_EQ(settings.complaints[0].error, "there is no such setting (did you mean STRETTO_ALLREDUCE?)");
  EXPECT_EQ(settings.complaints[1].variable + ": " + settings.complaints[1].error,
            "STRETTO_STRICT: must be 0 or 1, not \"yes\"");
}

TEST(Settings, ATimeoutAdaptsOrIsTheProgramsOwn) {
  EXPECT_FALSE(parse_settings("").timeout_adapts);
  EXPECT_TRUE(parse_settings("STRETTO_TIMEOUT=auto\n").timeout_adapts);
  const Settings wrong = parse_settings("STRETTO_TIMEOUT=30s\n");
  EXPECT_FALSE(wrong.timeout_adapts);
  ASSERT_EQ(wrong.complaints.size(), 1U);
  EXPECT_EQ(wrong.complaints[0].error, "must be auto, not \"30s\"");
}

TEST(Settings, ATimeWithoutAUnitIsInSeconds) {
  EXPECT_EQ(parse_settings("STRETTO_WATCHDOG=30\n").watchdog_seconds, 30);
  EXPECT_EQ(parse_settings("STRETTO_WATCHDOG=0.5min\n").watchdog_seconds, 30);
  EXPECT_EQ(parse_settings("STRETTO_WATCHDOG=500ms\n").watchdog_seconds, 0.5);
  EXPECT_FALSE(parse_settings("STRETTO_WATCHDOG=30\n").watchdog_adapts);
  EXPECT_TRUE(parse_settings("STRETTO_WATCHDOG=auto\n").watchdog_adapts);
  EXPECT_GT(parse_settings("STRETTO_WATCHDOG=auto\n").watchdog_seconds, 0);
  EXPECT_EQ(parse_settings("STRETTO_WATCHDOG=auto\n").watchdog, Watchdog::all_calls);
  EXPECT_EQ(parse_settings("STRETTO_WATCHDOG=0\n").watchdog, Watchdog::off);
  EXPECT_EQ(parse_settings("").watchdog, Watchdog::where_free);
  const Settings wrong = parse_settings("STRETTO_WATCHDOG=30x\n");
  EXPECT_EQ(wrong.watchdog, Watchdog::off);
  ASSERT_EQ(wrong.complaints.size(), 1U);
  EXPECT_EQ(wrong.complaints[0].error, "must be a time such as 30s, 500ms or 5min, not \"30x\"");
}

TEST(Settings, EveryCollectiveHasItsVariable) {
  const Settings settings = parse_settings(
      "STRETTO_ALLGATHER=bruck\nSTRETTO_BCAST=smp(chain):segments=2\nSTRETTO_REDUCE_SCATTER=pairwise\n"
      "STRETTO_REDUCE=knomial:radix=3\nSTRETTO_REPRODUCIBLE=1\n");
  EXPECT_TRUE(settings.complaints.empty());
  EXPECT_TRUE(settings.reproducible);
  EXPECT_EQ(to_string(settings.forced_for(Collective::bcast).value()), "smp(chain):segments=2");
  EXPECT_EQ(to_string(settings.forced_for(Collective::reduce).value()), "knomial:radix=3");
  EXPECT_FALSE(settings.forced_for(Collective::allreduce).has_value());
}

TEST(Settings, ATopologyThatCannotBeReadIsIgnored) {
  const Settings right = parse_settings("STRETTO_TOPOLOGY=nodes=2,ppn=3\n");
  EXPECT_EQ(right.topology.value().nodes, 2);
  const Settings lines = parse_settings("STRETTO_TOPOLOGY=a;a;b;\n");
  EXPECT_EQ(lines.topology.value().ranks(), 3);
  const Settings wrong = parse_settings("STRETTO_TOPOLOGY=nodes=0,ppn=3\n");
  EXPECT_FALSE(wrong.topology.has_value());
  ASSERT_EQ(wrong.complaints.size(), 1U);
  EXPECT_NE(wrong.complaints[0].error.find("nodes must be a whole number"), std::string::npos);
}

TEST(Settings, TextHoldsOurVariablesOnly) {
  setenv("STRETTO_STATS", "/tmp/x", 1);
  setenv("STRETT", "no", 1);
  const std::string text = settings_text(environ);
  EXPECT_NE(text.find("STRETTO_STATS=/tmp/x\n"), std::string::npos);
  EXPECT_EQ(text.find("STRETT=no"), std::string::npos);
}

TEST(Settings, SharedMemory) {
  const auto bytes = [](const std::string& value) {
    return parse_settings("STRETTO_SHM=" + value).shared_memory_bytes;
  };
  EXPECT_EQ(bytes(""), std::nullopt);
  EXPECT_EQ(bytes("1"), std::nullopt);
  EXPECT_EQ(bytes("0"), std::size_t{0});
  EXPECT_EQ(bytes("64KiB"), std::size_t{65536});
  for (const char* wrong : {"2", "63KiB", "2GiB", "on", "-1"}) {
    const Settings settings = parse_settings(std::string("STRETTO_SHM=") + wrong);
    EXPECT_EQ(settings.shared_memory_bytes, std::nullopt);
    ASSERT_EQ(settings.complaints.size(), 1U) << wrong;
    EXPECT_EQ(settings.complaints[0].variable, "STRETTO_SHM");
  }
}

TEST(Settings, Connections) {
  const auto from = [](const std::string& value) {
    return parse_settings("STRETTO_CONNECTIONS=" + value).connections_from;
  };
  EXPECT_EQ(from(""), std::nullopt);
  EXPECT_EQ(from("0"), std::nullopt);
  EXPECT_EQ(from("1"), Settings::usual_connections_from);
  EXPECT_EQ(from("2"), std::size_t{2});
  EXPECT_EQ(from("64KiB"), std::size_t{65536});
  EXPECT_EQ(from("auto"), std::nullopt);
  EXPECT_TRUE(parse_settings("STRETTO_CONNECTIONS=auto").may_connect);
  EXPECT_TRUE(parse_settings("").may_connect);
  EXPECT_FALSE(parse_settings("STRETTO_CONNECTIONS=1").may_connect);
  EXPECT_FALSE(parse_settings("STRETTO_CONNECTIONS=0").may_connect);
  const Settings wrong = parse_settings("STRETTO_CONNECTIONS=on");
  EXPECT_TRUE(wrong.may_connect);
  EXPECT_EQ(wrong.connections_from, std::nullopt);
  ASSERT_EQ(wrong.complaints.size(), 1U);
  EXPECT_EQ(wrong.complaints[0].variable, "STRETTO_CONNECTIONS");
}

TEST(Settings, Streams) {
  const auto streams = [](const std::string& value) {
    return parse_settings("STRETTO_STREAMS=" + value).streams;
  };
  EXPECT_EQ(streams(""), std::nullopt);
  EXPECT_EQ(streams("1"), 1);
  EXPECT_EQ(streams("16"), 16);
  for (const std::string wrong : {"0", "17", "-1", "4x", "many", "99999999999999999999"}) {
    const Settings settings = parse_settings("STRETTO_STREAMS=" + wrong);
    EXPECT_EQ(settings.streams, std::nullopt) << wrong;
    ASSERT_EQ(settings.complaints.size(), 1U) << wrong;
    EXPECT_EQ(settings.complaints[0].variable, "STRETTO_STREAMS");
  }
}

}  // namespace
}  // namespace stretto
