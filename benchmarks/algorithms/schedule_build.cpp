// SPDX-License-Identifier: Apache-2.0
// Measures how long one rank takes to build its schedule, and how much memory the schedule takes. Prints the
// slowest and the largest of some ranks, by algorithm. The time of a rank is the fastest of several builds,
// since the machine may be busy. What has a message for each rank is long on a million ranks, and built once.
//
//   schedule-build               on some topologies
//   schedule-build TOPOLOGY...   on these, as nodes=65536,ppn=16
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "topology/topology_text.hpp"

namespace {

using stretto::Topology;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr int builds = 7;
constexpr double slow = 50'000;  // microseconds

struct Cost {
  double microseconds = 0;
  std::size_t bytes = 0;
};

Cost cost_of(const stretto::Recipe& recipe, const Topology& topology, int rank) {
  Cost cost{.microseconds = 1e9};
  for (int turn = 0; turn < builds; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    const stretto::Schedule schedule = build(recipe, topology, 0, rank);
    const Microseconds taken = std::chrono::steady_clock::now() - start;
    cost.microseconds = std::min(cost.microseconds, taken.count());
    cost.bytes = schedule.memory_bytes();
    if (taken.count() > slow) break;
  }
  return cost;
}

Cost greatest_cost(const stretto::Recipe& recipe, const Topology& topology) {
  Cost greatest;
  const int ranks = topology.ranks();
  for (const int rank : std::array{0, 1, 5, ranks / 2, ranks - 2, ranks - 1}) {
    const Cost cost = cost_of(recipe, topology, rank);
    greatest = {std::max(greatest.microseconds, cost.microseconds), std::max(greatest.bytes, cost.bytes)};
  }
  return greatest;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<const char*> texts(argv + 1, argv + argc);
  if (texts.empty())
    texts = {"nodes=256,ppn=4", "nodes=341,ppn=3", "nodes=2048,ppn=16", "nodes=65536,ppn=16"};
  std::vector<Topology> topologies;
  for (const char* text : texts) topologies.push_back(stretto::parse_topology(text));
  std::printf("%-15s %-45s", "collective", "recipe");
  for (const char* text : texts) std::printf(" %24s", text);
  std::printf("\n");
  for (const stretto::Algorithm& algorithm : stretto::algorithms()) {
    const stretto::Recipe recipe = usual_recipe(algorithm);
    std::printf("%-15s %-45s", std::string(name_of(algorithm.collective)).c_str(), to_string(recipe).c_str());
    for (const Topology& topology : topologies) {
      if (!algorithm.misfit(task_of(recipe, topology, 0)).empty()) {
        std::printf(" %24s", "-");
        continue;
      }
      const Cost cost = greatest_cost(recipe, topology);
      std::printf(" %10.1f us %7zu KiB", cost.microseconds, cost.bytes / 1024);
      std::fflush(stdout);
    }
    std::printf("\n");
  }
}
