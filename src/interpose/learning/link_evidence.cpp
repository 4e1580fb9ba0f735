// SPDX-License-Identifier: Apache-2.0
#include "interpose/learning/link_evidence.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "text/size.hpp"
#include "threads/clock.hpp"

namespace stretto {
namespace {

/// Shorter calls say little, since links save up bytes.
constexpr std::size_t least_bytes = mebibyte;
/// On faster links, cores and round trips decide as well: 700 Mbit/s, as for the probe's long stream.
constexpr double fastest_link = 87.5e6;
constexpr int most_nodes = 4096;
/// Looks cost a small allreduce each. So they come after calls whose bytes pass a link in this time.
constexpr double least_passing = 0.08;

}  // namespace

LinkEvidence::NodeAddresses LinkEvidence::own_addresses() {
  NodeAddresses all{};
  std::ranges::copy(find_all_addresses(all.size()), all.begin());
  return all;
}

bool LinkEvidence::is_useful(const MeasuredNetwork& measured, const Topology& topology) {
  const int nodes = topology.nodes;
  const double rate = measured.machine.node.bandwidth;
  return nodes > 2 && nodes <= most_nodes && nodes == measured.nodes && rate > 0 && rate < fastest_link;
}

LinkEvidence::LinkEvidence(const Machine& machine, const Topology& topology, int rank,
                           const std::vector<NodeAddresses>& addresses)
    : watch_(machine, topology.nodes),
      nodes_(topology.nodes),
      own_node_(topology.node(rank)),
      before_seconds_(seconds_now()),
      link_rate_(machine.node.bandwidth) {
  constexpr int several = -1;  // as of bridges that have the same address on all nodes
  for (int one = 0; one < topology.ranks(); ++one) {
    const int node = topology.node(one);
    for (const Address& address : addresses[static_cast<std::size_t>(one)]) {
      if (address.family == 0) continue;
      const auto [at, is_new] = node_at_.try_emplace(address.ip, node);
      if (!is_new && at->second != node) at->second = several;
    }
  }
  std::erase_if(node_at_, [&](const auto& one) { return one.second == several || one.second == own_node_; });
  before_ = count();
}

std::map<LinkEvidence::Ends, TcpCounters> LinkEvidence::count() const {
  std::map<Ends, TcpCounters> all;
  for (const TcpCounters& one : read_tcp_counters()) {
    using Bytes = std::array<std::byte, sizeof(Address)>;
    if (node_at_.contains(one.to.ip))
      all.emplace(Ends{std::bit_cast<Bytes>(one.from), std::bit_cast<Bytes>(one.to)}, one);
  }
  return all;
}

bool LinkEvidence::is_due(std::size_t bytes) {
  if (bytes < least_bytes) return false;
  // The present call will show in the next look.
  const bool is_due = passing_ >= least_passing;
  passing_ = (is_due ? 0 : passing_) + static_cast<double>(bytes) / link_rate_;
  return is_due;
}

LinkFigures LinkEvidence::figures() {
  std::map<Ends, TcpCounters> all = count();
  const double seconds = seconds_now();
  std::vector<LinkTraffic> traffic(static_cast<std::size_t>(nodes_));
  for (const auto& [ends, now] : all) {
    const auto before = before_.find(ends);
    const TcpCounters none;
    const TcpCounters& then = before == before_.end() ? none : before->second;
    // The same ends may belong to a new connection.
    if (now.delivered < then.delivered || now.busy < then.busy) continue;
    LinkTraffic& to = traffic[static_cast<std::size_t>(node_at_.at(now.to.ip))];
    const double busy = now.busy - then.busy;
    to.bytes += static_cast<double>(now.delivered - then.delivered);
    to.longest_busy = std::max(to.longest_busy, busy);
    to.all_busy += busy;
  }
  before_ = std::move(all);
  return {traffic, own_node_, seconds - std::exchange(before_seconds_, seconds)};
}

}  // namespace stretto
