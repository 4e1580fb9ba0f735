// SPDX-License-Identifier: Apache-2.0
// Connections of Stretto's own between the nodes of an MPI job (src/sockets), beside the library's transport.
// Over TCP, a message that goes by them is copied less often, and waits in fewer queues.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sockets/endpoint.hpp"

namespace stretto {

class Connections {
 public:
  /// `nodes`: of each rank of MPI_COMM_WORLD.
  Connections(std::unique_ptr<Endpoint> endpoint, std::vector<int> nodes)
      : endpoint_(std::move(endpoint)), nodes_(std::move(nodes)) {}

  /// Whether this rank of MPI_COMM_WORLD is on another node. Which messages go there by connections is said
  /// by their call (CallResources::connections_from), so both ends agree.
  [[nodiscard]] bool lead_to(int peer) const { return node_of(peer) != node_of(endpoint_->rank()); }
  [[nodiscard]] Endpoint& endpoint() { return *endpoint_; }

  /// Of all messages. Their tags are unique in MPI_COMM_WORLD.
  static constexpr std::uint64_t context = 1;

 private:
  [[nodiscard]] int node_of(int rank) const { return nodes_[static_cast<std::size_t>(rank)]; }

  std::unique_ptr<Endpoint> endpoint_;
  std::vector<int> nodes_;
};

/// Returns those of this process, or nullptr.
Connections* connections();
/// To be called while no message is in flight. `made`: nullptr: there are none any more.
void set_connections(std::unique_ptr<Connections> made);

}  // namespace stretto
