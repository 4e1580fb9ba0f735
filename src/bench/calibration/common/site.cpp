// SPDX-License-Identifier: Apache-2.0
#include "bench/calibration/common/site.hpp"
#include "mpi/mpi.hpp"

#include <algorithm>
#include <optional>

namespace stretto::bench {
namespace {

/// Returns the lowest rank of each rank's part of a split; nothing if some rank is in no part.
std::optional<std::vector<int>> label_parts(int rank, int ranks, int kind, MPI_Info info) {
  MPI_Comm part = mpi.comm_null;
  const int error = mpi.Comm_split_type(mpi.comm_world, kind, rank, info, &part);
  int label = -1;
  if (error == MPI_SUCCESS && part != mpi.comm_null) {
    label = rank;
    mpi.Bcast(&label, 1, mpi.int_, 0, part);
    mpi.Comm_free(&part);
  }
  std::vector<int> labels(static_cast<std::size_t>(ranks));
  mpi.Allgather(&label, 1, mpi.int_, labels.data(), 1, mpi.int_, mpi.comm_world);
  if (std::find(labels.begin(), labels.end(), -1) != labels.end()) return std::nullopt;
  return labels;
}

std::optional<std::vector<int>> label_sockets(int rank, int ranks) {
  if (mpi.socket_kind == mpi.undefined) return std::nullopt;
  if (!mpi.has_guided_kinds) return label_parts(rank, ranks, mpi.socket_kind, mpi.info_null);
  MPI_Info info = mpi.info_null;
  mpi.Info_create(&info);
  mpi.Info_set(info, "mpi_hw_resource_type", "hwloc://Package");
  auto labels = label_parts(rank, ranks, mpi.socket_kind, info);
  mpi.Info_free(&info);
  return labels;
}

/// Returns the first two ranks of a node that are, or are not, on one socket.
std::vector<int> find_pair_inside(const Topology& topology, bool on_one_socket) {
  for (int node = 0; node < topology.nodes; ++node) {
    const auto ranks = topology.on_node(node);
    for (const int one : ranks) {
      for (const int other : ranks) {
        const bool together = topology.socket_of[static_cast<std::size_t>(one)] ==
                              topology.socket_of[static_cast<std::size_t>(other)];
        if (one < other && together == on_one_socket) return {one, other};
      }
    }
  }
  return {};
}

}  // namespace

std::vector<int> leaders_of_far_nodes(const Topology& topology, int pair) {
  return {topology.rank_at(pair, 0), topology.rank_at(pair + topology.nodes / 2, 0)};
}

Site find_site() {
  Site site;
  int ranks = 1;
  mpi.Comm_rank(mpi.comm_world, &site.rank);
  mpi.Comm_size(mpi.comm_world, &ranks);
  const std::vector<int> nodes = label_parts(site.rank, ranks, mpi.comm_type_shared, mpi.info_null)
                                     .value_or(std::vector<int>(static_cast<std::size_t>(ranks), 0));
  const auto sockets = label_sockets(site.rank, ranks);
  site.topology = Topology::from_labels(nodes, sockets.value_or(std::vector<int>{}));
  // With one socket per node there is one level inside a node, called node.
  site.knows_sockets = site.topology.sockets > site.topology.nodes;

  const auto add = [&](const char* name, std::vector<int> pair) {
    if (!pair.empty()) site.levels.push_back({.name = name, .pair = std::move(pair)});
  };
  if (site.knows_sockets) add("socket", find_pair_inside(site.topology, true));
  add("node", find_pair_inside(site.topology, !site.knows_sockets));
  if (site.topology.nodes > 1) add("network", leaders_of_far_nodes(site.topology, 0));
  return site;
}

}  // namespace stretto::bench
