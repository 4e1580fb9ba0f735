// SPDX-License-Identifier: Apache-2.0
#include "interpose/start/share_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "engine/messages/channel.hpp"
#include "interpose/session/session.hpp"
#include "text/hash.hpp"

namespace stretto {
namespace {

Hash hash_of_job(const std::vector<RankFacts>& of_rank) {
  Hash hash;
  for (const RankFacts& one : of_rank) {
    hash.add(one.node);
    hash.add(static_cast<std::uint64_t>(one.pid));
    hash.add(static_cast<std::uint64_t>(one.memory_file));
  }
  return hash;
}

/// Returns a number that the memory of a rank begins with. Memory of another job, or of another rank, has
/// another one.
std::uint64_t token_of(const std::vector<RankFacts>& of_rank, int rank) {
  Hash hash = hash_of_job(of_rank);
  hash.add(static_cast<std::uint64_t>(rank));
  return hash.sum();
}

/// Returns the ranks of this rank's node: those on its machine that STRETTO_TOPOLOGY does not put on another
/// node.
std::vector<int> find_neighbours(const std::vector<RankFacts>& of_rank) {
  const auto own = static_cast<std::size_t>(session.world_rank);
  std::vector<int> ranks;
  for (const int rank : session.topology.on_node(session.topology.node(session.world_rank))) {
    if (of_rank[static_cast<std::size_t>(rank)].node == of_rank[own].node) ranks.push_back(rank);
  }
  return ranks;
}

/// Whether the ranks of each node are on one machine. STRETTO_TOPOLOGY may put ranks of several machines on
/// one node.
bool nodes_are_machines(const std::vector<RankFacts>& of_rank) {
  std::map<int, std::uint64_t> machine_of;
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    const auto [place, is_first] =
        machine_of.try_emplace(session.topology.node(static_cast<int>(rank)), of_rank[rank].node);
    if (place->second != of_rank[rank].node) return false;
  }
  return true;
}

/// The ranks that have failed, as all ranks know them.
class Failures {
 public:
  /// Tells all ranks whether this one has failed so far. Collective.
  void tell(bool failed) {
    const int ranks = session.topology.ranks();
    std::vector<int> own(static_cast<std::size_t>(session.topology.nodes), ranks);
    if (failed) own[node()] = session.world_rank;
    first_.assign(own.size(), 0);  // if the MPI library fails here, all have failed
    mpi.Allreduce(own.data(), first_.data(), static_cast<int>(own.size()), mpi.int_, mpi.min,
                  channel_pool().comm());
  }
  /// Whether a rank of this node has failed, and whether this one is the first.
  [[nodiscard]] bool here() const { return first_[node()] < session.topology.ranks(); }
  [[nodiscard]] bool is_first() const { return first_[node()] == session.world_rank; }
  /// Whether any rank has failed.
  [[nodiscard]] bool anywhere() const { return std::ranges::min(first_) < session.topology.ranks(); }

 private:
  static std::size_t node() { return static_cast<std::size_t>(session.topology.node(session.world_rank)); }
  std::vector<int> first_;  // [node] the first rank that has failed, or the number of all ranks
};

}  // namespace

std::uint64_t job_number(const std::vector<RankFacts>& of_rank) {
  return hash_of_job(of_rank).sum();
}

void open_shared_memory(RankFacts& own) {
  own.pid = getpid();
  session.memory.open();
  own.memory_file = session.memory.file();
}

void share_memory(const std::vector<RankFacts>& of_rank) {
  const std::size_t store_bytes =
      session.settings.shared_memory_bytes.value_or(RegionShape::usual_store_bytes(session.topology.max_ppn));
  if (store_bytes == 0 || session.topology.max_ppn == 1) return session.memory.close();
  const std::vector<int> ranks = find_neighbours(of_rank);
  const auto place = std::ranges::find(ranks, session.world_rank) - ranks.begin();
  std::vector<NodeMemory::Owner> owners;
  for (const int rank : ranks) {
    const RankFacts& facts = of_rank[static_cast<std::size_t>(rank)];
    owners.push_back({facts.pid, facts.memory_file, token_of(of_rank, rank)});
  }
  // Communicators agree on lanes, so the lanes are the same on all nodes.
  const RegionShape shape = RegionShape::make(session.topology.max_ppn, store_bytes);
  channel_pool().set_lanes(shape.lanes);
  const bool is_alone = ranks.size() == 1;
  std::string error;
  if (!is_alone) {
    error =
        session.memory.make(shape, static_cast<int>(place), owners[static_cast<std::size_t>(place)].token);
  }
  Failures failures;
  failures.tell(!error.empty());
  const bool is_made = !failures.here() && !is_alone;
  if (is_made) error = session.memory.map(owners);
  failures.tell(!error.empty());
  if (failures.anywhere()) {
    // Processes of one user that have PID namespaces of their own, as in containers, hand their memory over.
    const bool hands_over = is_made && failures.here();
    if (hands_over) error = session.memory.offer(owners[static_cast<std::size_t>(place)].token);
    failures.tell(!error.empty());
    if (hands_over && !failures.here()) error = session.memory.receive(owners);
    failures.tell(!error.empty());
  }
  session.shares_memory = !failures.anywhere() && nodes_are_machines(of_rank);
  if (!failures.here()) {
    session.memory.close_files();
    session.memory_places.assign(of_rank.size(), Neighbours::none);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] == session.world_rank) continue;
      session.memory_places[static_cast<std::size_t>(ranks[i])] = static_cast<int>(i);
    }
    return;
  }
  session.memory.close();
  if (failures.is_first()) {
    complain(this_rank() + ": shared memory does not work (" + error +
             "); messages between the ranks of its node go through " +
             (mpi.has_library() ? "the MPI library" : "sockets"));
  }
}

}  // namespace stretto
