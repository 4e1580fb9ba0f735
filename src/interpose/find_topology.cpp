// SPDX-License-Identifier: Apache-2.0
#include "interpose/find_topology.hpp"

#include <string>
#include <vector>

#include "interpose/session.hpp"

namespace stretto {
namespace {

/// For each rank of MPI_COMM_WORLD the lowest one that is in its part of a split; the same label on all ranks
/// of a part. Frees the communicator.
std::vector<int> label_parts(MPI_Comm part, int ranks) {
  int label = session.world_rank;
  if (part != mpi.comm_null) {
    // Ordered by world rank, so that rank 0 of the part has the lowest.
    mpi.Bcast(&label, 1, MPI_INT, 0, part);
    mpi.Comm_free(&part);
  }
  std::vector<int> labels(static_cast<std::size_t>(ranks));
  mpi.Allgather(&label, 1, MPI_INT, labels.data(), 1, MPI_INT, mpi.comm_world);
  return labels;
}

MPI_Comm split(int kind, MPI_Info info) {
  MPI_Comm part = mpi.comm_null;
  const int error = mpi.Comm_split_type(mpi.comm_world, kind, session.world_rank, info, &part);
  return error == MPI_SUCCESS ? part : mpi.comm_null;
}

enum class Domain { socket, numa };

/// Ranks by socket or NUMA domain, as the library knows from hwloc where a rank is bound: by Open MPI's own
/// split types, or by MPI 4's hardware-guided split. Labels that are equal on all ranks of a node if it does
/// not say.
std::vector<int> label_domains(Domain domain, const std::vector<int>& nodes) {
  const int ranks = static_cast<int>(nodes.size());
  MPI_Comm part = mpi.comm_null;
#if defined(STRETTO_ABI_OPENMPI)
  part = split(domain == Domain::socket ? OMPI_COMM_TYPE_SOCKET : OMPI_COMM_TYPE_NUMA, MPI_INFO_NULL);
#elif defined(MPI_COMM_TYPE_HW_GUIDED)
  MPI_Info info{};
  mpi.Info_create(&info);
  mpi.Info_set(info, "mpi_hw_resource_type",
               domain == Domain::socket ? "hwloc://Package" : "hwloc://NUMANode");
  part = split(MPI_COMM_TYPE_HW_GUIDED, info);
  mpi.Info_free(&info);
#endif
  int known = part == mpi.comm_null ? 0 : 1;
  int known_everywhere = 0;
  std::vector<int> labels = label_parts(part, ranks);
  mpi.Allreduce(&known, &known_everywhere, 1, MPI_INT, MPI_MIN, mpi.comm_world);
  return known_everywhere != 0 ? labels : nodes;
}

Topology ask_mpi(int ranks) {
  const std::vector<int> nodes = label_parts(split(MPI_COMM_TYPE_SHARED, MPI_INFO_NULL), ranks);
  Topology topology = Topology::from_labels(nodes);
  if (topology.max_ppn <= 2) return topology;  // domains would tell nothing
  return Topology::from_labels(nodes, label_domains(Domain::socket, nodes),
                               label_domains(Domain::numa, nodes));
}

}  // namespace

Topology find_topology(const Settings& settings) {
  int ranks = 1;
  mpi.Comm_size(mpi.comm_world, &ranks);
  if (!settings.topology) return ask_mpi(ranks);
  if (settings.topology->ranks() == ranks) return *settings.topology;
  complain_once_on_rank_0(
      "STRETTO_TOPOLOGY has " + std::to_string(settings.topology->ranks()) +
      " rank(s), but MPI_COMM_WORLD has " + std::to_string(ranks) + "; " +
      (settings.strict ? "the job ends (STRETTO_STRICT)" : "what MPI says about nodes is used"));
  if (settings.strict) mpi.Abort(mpi.comm_world, EXIT_FAILURE);
  return ask_mpi(ranks);
}

}  // namespace stretto
