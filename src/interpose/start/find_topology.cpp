// SPDX-License-Identifier: Apache-2.0
#include "interpose/start/find_topology.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpose/session/session.hpp"
#include "text/hash.hpp"
#include "topology/boot_id.hpp"
#include "topology/cpu_domains.hpp"

namespace stretto {
namespace {

/// Returns a name that only the ranks of one node have. Machines may share a name (localhost), so the boot's
/// number is part of it. A machine with several names (containers) counts as several nodes.
std::string name_of_node() {
  MpiText name{};
  int length = 0;
  mpi.Get_processor_name(name.data(), &length);
  return name.data() + (" " + boot_id());
}

Topology from_facts(const std::vector<RankFacts>& of_rank) {
  std::unordered_map<std::uint64_t, int> number_of;
  std::vector<int> nodes;
  nodes.reserve(of_rank.size());
  for (const RankFacts& rank : of_rank) {
    nodes.push_back(number_of.try_emplace(rank.node, static_cast<int>(number_of.size())).first->second);
  }
  Topology topology = Topology::from_labels(nodes);
  if (topology.max_ppn <= 2) return topology;  // domains would make no difference
  // If a rank is not bound, each node counts as one domain.
  const auto labels = [&](std::int32_t RankFacts::*domain) {
    std::vector<int> all;
    all.reserve(of_rank.size());
    for (const RankFacts& rank : of_rank) all.push_back(rank.*domain);
    const bool known = std::find(all.begin(), all.end(), CpuDomains::unknown) == all.end();
    return known ? all : std::vector<int>{};
  };
  return Topology::from_labels(nodes, labels(&RankFacts::socket), labels(&RankFacts::numa),
                               labels(&RankFacts::l3));
}

}  // namespace

void find_own_place(RankFacts& own) {
  own.node = hash_of(name_of_node());
  own.kernel = kernel_number();
  own.cpus = own_cpu_span();
  const CpuDomains domains = find_domains(allowed_cpus());
  own.socket = domains.socket;
  own.numa = domains.numa;
  own.l3 = domains.l3;
}

Topology find_topology(const Settings& settings, const std::vector<RankFacts>& of_rank) {
  const auto ranks = static_cast<int>(of_rank.size());
  if (!settings.topology) return from_facts(of_rank);
  if (settings.topology->ranks() == ranks) return *settings.topology;
  complain_once_on_rank_0(
      "STRETTO_TOPOLOGY has " + std::to_string(settings.topology->ranks()) + " rank(s), but the job has " +
      std::to_string(ranks) + "; " +
      (settings.strict ? "the job ends (STRETTO_STRICT)" : "the nodes that the ranks find are used"));
  if (settings.strict) mpi.Abort(mpi.comm_world, EXIT_FAILURE);
  return from_facts(of_rank);
}

bool outnumber_cores(const std::vector<RankFacts>& of_rank, int rank) {
  const std::uint64_t kernel = of_rank[static_cast<std::size_t>(rank)].kernel;
  if (kernel == 0) return true;
  std::vector<CpuSpan> here;
  for (const RankFacts& other : of_rank) {
    if (other.kernel == kernel) here.push_back(other.cpus);
  }
  return are_crowded(here);
}

bool outnumber_cores_somewhere(const std::vector<RankFacts>& of_rank) {
  std::map<std::uint64_t, std::vector<CpuSpan>> machines;
  for (const RankFacts& facts : of_rank) machines[facts.kernel].push_back(facts.cpus);
  return std::ranges::any_of(
      machines, [](const auto& machine) { return machine.first == 0 || are_crowded(machine.second); });
}

}  // namespace stretto
