// SPDX-License-Identifier: Apache-2.0
// Connections of Stretto's own between the nodes of an MPI job (src/sockets), beside the MPI library's
// transport. Over TCP, a message that goes through them is copied less often, and waits in fewer queues.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sockets/endpoint.hpp"

namespace stretto {

class Connections {
 public:
  /// `nodes` holds the node of each rank of MPI_COMM_WORLD.
  Connections(std::unique_ptr<Endpoint> endpoint, std::vector<int> nodes)
      : endpoint_(std::move(endpoint)), nodes_(std::move(nodes)) {}

  /// Whether a rank of MPI_COMM_WORLD is on another node. The call decides which messages go there through
  /// connections (CallResources::connections_from), so both ends agree.
  [[nodiscard]] bool lead_to(int peer) const { return node_of(peer) != node_of(endpoint_->rank()); }
  [[nodiscard]] Endpoint& endpoint() { return *endpoint_; }

  /// The context of all messages. Their tags are unique in MPI_COMM_WORLD.
  static constexpr std::uint64_t context = 1;

 private:
  [[nodiscard]] int node_of(int rank) const { return nodes_[static_cast<std::size_t>(rank)]; }

  std::unique_ptr<Endpoint> endpoint_;
  std::vector<int> nodes_;
};

/// Returns the connections of this process, or nullptr.
Connections* connections();
/// Sets the connections of this process; nullptr: there are none any more. To be called while no message is
/// in flight.
void set_connections(std::unique_ptr<Connections> made);

}  // namespace stretto
