// SPDX-License-Identifier: Apache-2.0
#include "interpose/start/share_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/channel.hpp"
#include "interpose/session/session.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

/// Returns a number that the memory of a rank begins with. Memory of another job, or of another rank, has
/// another one.
std::uint64_t token_of(const std::vector<RankFacts>& of_rank, int rank) {
  std::uint64_t sum = 14695981039346656037U;  // FNV-1a
  const auto add = [&](std::uint64_t number) { sum = (sum ^ number) * 1099511628211U; };
  for (const RankFacts& one : of_rank) {
    add(one.node);
    add(static_cast<std::uint64_t>(one.pid));
    add(static_cast<std::uint64_t>(one.memory_file));
  }
  add(static_cast<std::uint64_t>(rank));
  return sum;
}

/// Returns the bytes of a rank's slots: more than the second-level cache of a core, as SlotPool wants, and no
/// more than 64 MiB on a node as long as that leaves each rank enough.
std::size_t usual_bytes(int ranks_of_node) {
  constexpr std::size_t most = 2560 * kibibyte;
  constexpr std::size_t least = 512 * kibibyte;
  return std::clamp(64 * mebibyte / static_cast<std::size_t>(ranks_of_node), least, most);
}

/// Returns the ranks of this rank's node: those that it finds on its machine, as far as STRETTO_TOPOLOGY
/// leaves them on one node.
std::vector<int> find_neighbours(const std::vector<RankFacts>& of_rank) {
  const auto own = static_cast<std::size_t>(session.world_rank);
  std::vector<int> ranks;
  for (const int rank : session.topology.on_node(session.topology.node(session.world_rank))) {
    if (of_rank[static_cast<std::size_t>(rank)].node == of_rank[own].node) ranks.push_back(rank);
  }
  return ranks;
}

/// Tells all ranks which rank of each node is the first one that has failed. Returns that of this node, or the
/// number of all ranks. Collective.
int first_to_fail(bool failed) {
  const int ranks = session.topology.ranks();
  std::vector<int> own(static_cast<std::size_t>(session.topology.nodes), ranks);
  const auto node = static_cast<std::size_t>(session.topology.node(session.world_rank));
  if (failed) own[node] = session.world_rank;
  std::vector<int> first(own.size());
  const int error = mpi.Allreduce(own.data(), first.data(), static_cast<int>(own.size()), MPI_INT, MPI_MIN,
                                  channel_pool().comm());
  return error == MPI_SUCCESS ? first[node] : session.world_rank;
}

}  // namespace

void open_shared_memory(RankFacts& own) {
  own.pid = getpid();
  static_cast<void>(session.memory.open());  // make() fails without it
  own.memory_file = session.memory.file();
}

void share_memory(const std::vector<RankFacts>& of_rank) {
  const std::size_t slot_bytes =
      session.settings.shared_memory_bytes.value_or(usual_bytes(session.topology.max_ppn));
  if (slot_bytes == 0 || session.topology.max_ppn == 1) return session.memory.close();
  const std::vector<int> ranks = find_neighbours(of_rank);
  const auto place = std::ranges::find(ranks, session.world_rank) - ranks.begin();
  std::vector<NodeMemory::Owner> owners;
  for (const int rank : ranks) {
    const RankFacts& facts = of_rank[static_cast<std::size_t>(rank)];
    owners.push_back({facts.pid, facts.memory_file, token_of(of_rank, rank)});
  }
  // The same lanes everywhere: communicators agree on them.
  std::string error = session.memory.make(session.topology.max_ppn, static_cast<int>(place), slot_bytes,
                                          owners[static_cast<std::size_t>(place)].token);
  int failed = first_to_fail(!error.empty());
  const int all_ranks = session.topology.ranks();
  if (failed == all_ranks) error = session.memory.map(owners);
  failed = std::min(failed, first_to_fail(!error.empty()));
  channel_pool().set_lanes(session.memory.lanes());
  if (failed == all_ranks) {
    session.memory.close_files();
    session.memory_places.assign(static_cast<std::size_t>(all_ranks), Neighbours::none);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] == session.world_rank) continue;
      session.memory_places[static_cast<std::size_t>(ranks[i])] = static_cast<int>(i);
    }
    return;
  }
  session.memory.close();
  if (failed == session.world_rank) {
    complain("rank " + std::to_string(failed) + ": shared memory does not work (" + error +
             "); messages between the ranks of its node go through the MPI library");
  }
}

}  // namespace stretto
