// SPDX-License-Identifier: Apache-2.0
#include "algorithms/registry.hpp"

#include <array>

#include "algorithms/allreduce/allreduce.hpp"

namespace stretto {
namespace {

bool always(const Topology& /*topology*/) {
  return true;
}
bool up_to_two_ranks(const Topology& topology) {
  return topology.ranks() <= 2;
}

constexpr auto table = std::to_array<Algorithm>({
    {Collective::allreduce, "ring", "reduce-scatter and allgather around a ring; least bytes, 2(p-1) rounds",
     allreduce::ring, up_to_two_ranks},
    {Collective::allreduce, "recursive_doubling",
     "pairs at distance 1, 2, 4, … exchange everything; fewest rounds", allreduce::recursive_doubling,
     always},
    {Collective::allreduce, "rabenseifner",
     "recursive halving, then recursive doubling; least bytes when p is a power of two, 2 log2(p) rounds",
     allreduce::rabenseifner, always},
    {Collective::allreduce, "linear", "all send to rank 0, which reduces in rank order and sends to all",
     allreduce::linear, always},
    {Collective::allreduce, "binomial", "binomial reduce to rank 0, then binomial broadcast",
     allreduce::binomial, always},
});

}  // namespace

std::string_view name_of(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return "allreduce";
  }
  return "unknown";
}

std::span<const Algorithm> algorithms() {
  return table;
}

const Algorithm* find_algorithm(Collective collective, std::string_view name) {
  for (const Algorithm& algorithm : table) {
    if (algorithm.collective == collective && algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

}  // namespace stretto
