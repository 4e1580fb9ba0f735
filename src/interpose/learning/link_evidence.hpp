// SPDX-License-Identifier: Apache-2.0
// Looks at the links of the nodes while calls use them (learn/network/links.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "learn/fabrics/fabric.hpp"
#include "learn/network/links.hpp"
#include "model/machine.hpp"
#include "sockets/address.hpp"
#include "sockets/tcp_counters.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// The looks of one communicator. To be used in the order of calls.
class LinkEvidence {
 public:
  /// Where a node is, as the others may see it.
  using NodeAddresses = std::array<Address, 8>;

  /// Returns the addresses of this rank's node.
  static NodeAddresses own_addresses();
  /// Whether the calls of communicators of this topology can correct these measurements: all nodes take part,
  /// there are others to compare a node with, and the links are so slow that they decide.
  static bool is_useful(const MeasuredNetwork& measured, const Topology& topology);

  /// `addresses`: [rank].
  LinkEvidence(const Machine& machine, const Topology& topology, int rank,
               const std::vector<NodeAddresses>& addresses);

  /// Whether the ranks are to look at the links before a call of so many bytes. Counts the call. All ranks
  /// get the same result.
  [[nodiscard]] bool is_due(std::size_t bytes);
  /// What this rank's connections have carried since the last look.
  [[nodiscard]] LinkFigures figures();
  /// For jobs with an MPI library.
  [[nodiscard]] LinkWatch& watch() { return watch_; }

 private:
  using Ends = std::pair<std::array<std::byte, sizeof(Address)>, std::array<std::byte, sizeof(Address)>>;
  [[nodiscard]] std::map<Ends, TcpCounters> count() const;

  LinkWatch watch_;
  int nodes_;
  int own_node_;
  std::map<std::array<std::byte, 16>, int> node_at_;  // by address
  std::map<Ends, TcpCounters> before_;
  double before_seconds_;
  double link_rate_;
  double passing_ = 0;  // seconds in which the bytes of the calls since the last look pass a link
};

}  // namespace stretto
