// SPDX-License-Identifier: Apache-2.0
#include "algorithms/levels.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>

#include "algorithms/bcast/bcast.hpp"
#include "algorithms/reduce/reduce.hpp"

namespace stretto {
namespace {

/// Returns the domain of each rank, valid for the ranks of `node`.
const std::vector<int>& domain_of(const Topology& topology, int node) {
  const auto ranks = topology.on_node(node);
  const auto socket = [&](int rank) { return topology.socket_of[static_cast<std::size_t>(rank)]; };
  const auto is_elsewhere = [&](int rank) { return socket(rank) != socket(ranks[0]); };
  return std::any_of(ranks.begin(), ranks.end(), is_elsewhere) ? topology.socket_of : topology.numa_of;
}

/// Returns the ranks of a node domain by domain, in the order of the domains' lowest ranks.
std::vector<std::vector<int>> domains_on(const Topology& topology, int node) {
  const std::vector<int>& domain = domain_of(topology, node);
  const auto of = [&](int rank) { return domain[static_cast<std::size_t>(rank)]; };
  std::vector<int> ranks(topology.on_node(node).begin(), topology.on_node(node).end());
  std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) { return of(a) < of(b); });
  std::vector<std::vector<int>> result;
  for (const int rank : ranks) {
    if (result.empty() || of(rank) != of(result.back()[0])) result.emplace_back();
    result.back().push_back(rank);
  }
  return result;
}

/// Whether every group holds a run of consecutive ranks.
bool groups_are_runs(const Topology& topology) {
  int next = 0;
  for (int node = 0; node < topology.nodes; ++node) {
    for (const std::vector<int>& domain : domains_on(topology, node)) {
      for (const int rank : domain) {
        if (rank != next++) return false;
      }
    }
  }
  return true;
}

/// Whether all groups of a level, and all nodes, have the same size, a power of two.
bool groups_are_perfect(const Topology& topology) {
  if (topology.min_ppn != topology.max_ppn || !std::has_single_bit(static_cast<unsigned>(topology.ranks()))) {
    return false;
  }
  for (int node = 0; node < topology.nodes; ++node) {
    const auto domains = domains_on(topology, node);
    for (const auto& domain : domains) {
      if (domain.size() != domains[0].size()) return false;
    }
  }
  return true;
}

int place_in(const std::vector<int>& ranks, int rank, int otherwise) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  return found == ranks.end() ? otherwise : static_cast<int>(found - ranks.begin());
}

}  // namespace

Levels::Levels(const Topology& topology, int rank, int root) {
  Group leaders;
  for (std::vector<int>& domain : domains_on(topology, topology.node(rank))) {
    const auto leader = static_cast<std::size_t>(place_in(domain, root, 0));
    leaders.ranks.push_back(domain[leader]);
    if (place_in(domain, rank, -1) < 0) continue;
    add({.ranks = std::move(domain), .leader = static_cast<int>(leader)}, rank);
  }
  leaders.leader = place_in(leaders.ranks, root, 0);
  add(std::move(leaders), rank);
}

void Levels::add(Group group, int rank) {
  if (!leads_node_) return;
  group.me = place_in(group.ranks, rank, -1);
  leads_node_ = group.me == group.leader;
  if (group.ranks.size() > 1) groups_.push_back(std::move(group));
}

HeldBlock Levels::append_reduce(Schedule& schedule, HeldBlock partial) const {
  const std::array<int, 2> borders{0, schedule.blocks()};
  HeldBlock held;
  for (const Group& group : groups_) {
    const Topology flat = Topology::flat(static_cast<int>(group.ranks.size()));
    schedule.append(reduce::binomial({.topology = flat, .root = group.leader}, group.me),
                    {.ranks = group.ranks,
                     .input = held.buffer,
                     .output = partial.buffer,
                     .input_scratch = held.first_scratch,
                     .output_scratch = partial.first_scratch,
                     .borders = borders});
    if (group.me == group.leader) held = partial;
  }
  return held;
}

void Levels::append_bcast(Schedule& schedule) const {
  const std::array<int, 2> borders{0, schedule.blocks()};
  for (std::size_t left = groups_.size(); left > 0; --left) {
    const Group& group = groups_[left - 1];
    const Topology flat = Topology::flat(static_cast<int>(group.ranks.size()));
    schedule.append(bcast::binomial({.topology = flat, .root = group.leader}, group.me),
                    {.ranks = group.ranks, .borders = borders});
  }
}

std::vector<int> leaders_of_nodes(const Topology& topology, int root) {
  std::vector<int> leaders(static_cast<std::size_t>(topology.nodes));
  for (int node = 0; node < topology.nodes; ++node) {
    leaders[static_cast<std::size_t>(node)] = topology.rank_at(node, 0);
  }
  leaders[static_cast<std::size_t>(topology.node(root))] = root;
  return leaders;
}

bool smp_keeps_order(const Task& task) {
  const Topology& topology = task.topology;
  return groups_are_runs(topology) &&
         keeps_order(task.parts[0], topology.of_leaders(), topology.node(task.root));
}

bool smp_has_fixed_tree(const Task& task) {
  const Topology& topology = task.topology;
  return groups_are_runs(topology) && groups_are_perfect(topology) &&
         has_fixed_tree(task.parts[0], topology.of_leaders(), topology.node(task.root));
}

std::string_view smp_unsupported(const Task& task) {
  return task.topology.max_ppn == 1 ? "each node has one rank, so only its part would run" : "";
}

}  // namespace stretto
