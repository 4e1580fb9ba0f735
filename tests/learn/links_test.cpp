// SPDX-License-Identifier: Apache-2.0
#include "learn/network/links.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "text/size.hpp"

namespace stretto {
namespace {

constexpr double fast = 25e6;  // bytes per second
constexpr double slow = 12.5e6;

Machine machine_of(const std::vector<double>& rates) {
  Machine machine;
  machine.levels.fill({Protocol{.from = 0, .latency = 1e-5, .bandwidth = std::ranges::max(rates)}});
  machine.node.bandwidth = std::ranges::min(rates);
  if (machine.node.bandwidth < std::ranges::max(rates)) machine.node_rates = rates;
  return machine;
}

std::vector<double> links_of(std::size_t nodes, std::size_t slow_node, double rate = slow) {
  std::vector<double> rates(nodes, fast);
  if (slow_node < nodes) rates[slow_node] = rate;
  return rates;
}
constexpr std::size_t none = 1000;

/// Takes the greatest figures of all ranks, one on each node.
LinkFigures agreed(const std::vector<std::vector<LinkTraffic>>& traffic, double seconds) {
  std::vector<double> all;
  for (std::size_t rank = 0; rank < traffic.size(); ++rank) {
    const std::vector<double> own = LinkFigures(traffic[rank], static_cast<int>(rank), seconds).all();
    if (all.empty()) all = own;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], own[i]);
  }
  return LinkFigures(all);
}

/// Returns what calls by a ring of `bytes` for each rank show. A message passes at the rate of the slower one
/// of both links; `noise` disturbs each by up to that part.
LinkFigures by_ring(const std::vector<double>& links, std::mt19937& random, double noise = 0,
                    double bytes = 8 * mebibyte) {
  const std::size_t nodes = links.size();
  std::uniform_real_distribution<double> disturbed(1 - noise, 1 + noise);
  std::vector<std::vector<LinkTraffic>> traffic(nodes, std::vector<LinkTraffic>(nodes));
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::size_t next = (node + 1) % nodes;
    const double busy = bytes / std::min(links[node], links[next]) * disturbed(random);
    traffic[node][next] = {.bytes = bytes, .longest_busy = busy, .all_busy = busy};
  }
  return agreed(traffic, bytes / std::ranges::min(links) * (1 + noise));
}

/// Returns what calls show in which each rank sends to all others at once. A node sends a part of `bytes`
/// that is given by `shares`.
LinkFigures to_all(const std::vector<double>& links, const std::vector<double>& shares,
                   double bytes = 8 * mebibyte) {
  const std::size_t nodes = links.size();
  double seconds = 0;
  for (std::size_t node = 0; node < nodes; ++node)
    seconds = std::max(seconds, shares[node] * bytes / links[node]);
  std::vector<std::vector<LinkTraffic>> traffic(nodes, std::vector<LinkTraffic>(nodes));
  for (std::size_t node = 0; node < nodes; ++node) {
    for (std::size_t to = 0; to < nodes; ++to) {
      if (to == node) continue;
      const double busy = shares[node] * bytes / links[node];
      traffic[node][to] = {.bytes = shares[node] * bytes / static_cast<double>(nodes - 1),
                           .longest_busy = busy,
                           .all_busy = 0.6 * busy * static_cast<double>(nodes - 1)};
    }
  }
  return agreed(traffic, seconds);
}

void expect_slow(const LinkWatch& watch, std::size_t slow_node, double part = 0.5) {
  const double most = std::ranges::max(watch.rates());
  for (std::size_t node = 0; node < watch.rates().size(); ++node)
    EXPECT_NEAR(watch.rates()[node] / most, node == slow_node ? part : 1, 0.1) << node;
}

TEST(Links, TwoCallsByARingShowTheSlowOne) {
  std::mt19937 random(1);
  for (const std::size_t nodes : {3, 4, 5, 8, 17}) {
    for (std::size_t node = 0; node < nodes; ++node) {
      LinkWatch watch(machine_of(links_of(nodes, none)), static_cast<int>(nodes));
      EXPECT_FALSE(watch.look(by_ring(links_of(nodes, node), random, 0.05)));
      EXPECT_TRUE(watch.look(by_ring(links_of(nodes, node), random, 0.05)));
      expect_slow(watch, node);
      // Nothing is left to correct.
      for (int i = 0; i < 20; ++i) EXPECT_FALSE(watch.look(by_ring(links_of(nodes, node), random, 0.05)));
    }
  }
}

TEST(Links, TheyComeBackUnderAnotherSpec) {
  for (const std::size_t nodes : {3, 8}) {
    std::vector<double> shares(nodes, 1);
    shares[1] = 0.5;
    LinkWatch watch(machine_of(links_of(nodes, 1)), static_cast<int>(nodes));
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(watch.look(to_all(links_of(nodes, 1), shares)));
    // The node still sends half as much, but in half of the time.
    EXPECT_FALSE(watch.look(to_all(links_of(nodes, none), shares)));
    EXPECT_TRUE(watch.look(to_all(links_of(nodes, none), shares)));
    expect_slow(watch, none);
    for (const double rate : watch.rates()) EXPECT_NEAR(rate, fast, 0.1 * fast);
  }
}

TEST(Links, NoiseIsNoChange) {
  std::mt19937 random(2);
  for (const std::size_t nodes : {3, 8, 17}) {
    for (const std::size_t node : {none, std::size_t{1}}) {
      LinkWatch watch(machine_of(links_of(nodes, node)), static_cast<int>(nodes));
      for (int i = 0; i < 10'000; ++i)
        ASSERT_FALSE(watch.look(by_ring(links_of(nodes, node), random, 0.1))) << nodes << ' ' << i;
    }
  }
}

TEST(Links, OneLookBetweenMayHideWhatTheOthersSay) {
  std::mt19937 random(3);
  const auto usual = [&] { return by_ring(links_of(8, none), random); };
  const auto other = [&] { return by_ring(links_of(8, 5), random); };
  LinkWatch watch(machine_of(links_of(8, none)), 8);
  EXPECT_FALSE(watch.look(other()));
  EXPECT_FALSE(watch.look(usual()));
  EXPECT_TRUE(watch.look(other()));
  LinkWatch disturbed(machine_of(links_of(8, none)), 8);
  EXPECT_FALSE(disturbed.look(other()));
  EXPECT_FALSE(disturbed.look(usual()));
  EXPECT_FALSE(disturbed.look(usual()));
  EXPECT_FALSE(disturbed.look(other()));
}

TEST(Links, AnotherNodeEachTimeIsNoise) {
  std::mt19937 random(4);
  LinkWatch watch(machine_of(links_of(8, none)), 8);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_FALSE(watch.look(by_ring(links_of(8, i % 8), random)));
}

TEST(Links, FewBytesSayNothing) {
  std::mt19937 random(5);
  LinkWatch watch(machine_of(links_of(8, none)), 8);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(watch.look(by_ring(links_of(8, 2), random, 0, mebibyte / 2)));
}

TEST(Links, OneRankOfANodeMaySendForAll) {
  const std::vector<LinkTraffic> nothing(3);
  std::mt19937 random(7);
  LinkWatch watch(machine_of(links_of(3, none)), 3);
  const auto look = [&] {
    std::vector<double> all = by_ring(links_of(3, 1), random).all();
    for (int node = 0; node < 3; ++node) {
      const LinkFigures of_silent(nothing, node, 1);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], of_silent.all()[i]);
    }
    return watch.look(LinkFigures(all));
  };
  EXPECT_FALSE(look());
  EXPECT_TRUE(look());
  expect_slow(watch, 1);
}

/// The leaves of a tree send to one node at once, and so each seems to have a slow link.
TEST(Links, UnevenLoadsSayNothing) {
  std::vector<std::vector<LinkTraffic>> traffic(8, std::vector<LinkTraffic>(8));
  const double bytes = 8 * mebibyte;
  for (std::size_t node = 1; node < 8; ++node)
    traffic[node][0] = {.bytes = bytes, .longest_busy = 7 * bytes / fast, .all_busy = 7 * bytes / fast};
  for (std::size_t node = 1; node < 8; ++node)
    traffic[0][node] = {.bytes = bytes, .longest_busy = 7 * bytes / fast, .all_busy = 7 * bytes / fast};
  LinkWatch watch(machine_of(links_of(8, none)), 8);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(watch.look(agreed(traffic, 7 * bytes / fast)));
}

TEST(Links, CorrectionsOfAnUnsteadyNetworkBecomeRare) {
  std::mt19937 random(6);
  LinkWatch watch(machine_of(links_of(8, none)), 8);
  int corrections = 0;
  for (int i = 0; i < 4000; ++i)
    corrections += watch.look(by_ring(links_of(8, i / 4 % 2 == 0 ? 3 : none), random)) ? 1 : 0;
  EXPECT_GE(corrections, 4);
  EXPECT_LE(corrections, 20);
}

TEST(Links, TheMachineGetsTheRates) {
  Machine machine = machine_of(links_of(8, none));
  std::vector<double> rates = links_of(8, 3);
  set_link_rates(rates, machine);
  EXPECT_EQ(machine.node_rates, rates);
  EXPECT_EQ(machine.node.bandwidth, slow);
  EXPECT_EQ(machine.protocol(Level::network, 1024).bandwidth, fast);
  for (double& rate : rates) rate = 2 * fast;
  set_link_rates(rates, machine);
  EXPECT_TRUE(machine.node_rates.empty());
  EXPECT_EQ(machine.node.bandwidth, 2 * fast);
  EXPECT_EQ(machine.protocol(Level::network, 1024).bandwidth, 2 * fast);
}

}  // namespace
}  // namespace stretto
