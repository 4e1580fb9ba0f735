// SPDX-License-Identifier: Apache-2.0
#include "simulate/host.hpp"

#include <algorithm>
#include <cmath>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "simulate/link_queues.hpp"

namespace stretto::simulate {
namespace {

[[noreturn]] void refuse(const std::string& property, const std::string& text) {
  throw std::invalid_argument("property " + property + " of host " +
                              simgrid::s4u::this_actor::get_host()->get_name() + ": cannot read " + text);
}

std::vector<double> parse_numbers(const std::string& property, const std::string& row) {
  std::vector<double> numbers;
  std::istringstream parts(row);
  for (std::string part; std::getline(parts, part, ':');) {
    std::size_t used = 0;
    try {
      numbers.push_back(std::stod(part, &used));
    } catch (const std::logic_error&) {
      refuse(property, row);
    }
    if (used != part.size() || !std::isfinite(numbers.back()) || numbers.back() < 0) refuse(property, row);
  }
  return numbers;
}

using Links = std::vector<simgrid::s4u::Link*>;
using Zones = std::unordered_set<simgrid::s4u::NetZone*>;

using simgrid::s4u::Link;

double fastest_of(const std::vector<Row>& protocols) {
  double fastest = 0;
  for (const Row& row : protocols) fastest = std::max(fastest, row.values[1]);
  return fastest;
}

double slowest_of(const Links& links) {
  double slowest = INFINITY;
  for (const Link* link : links) slowest = std::min(slowest, link->get_bandwidth());
  return slowest;
}

/// The factors by which SimGrid multiplies the latency and bandwidth of a route.
struct Protocols {
  std::vector<Row> network;
  std::vector<Row> node;
  double hop;

  /// Limits messages to the speed of their fastest protocol.
  [[nodiscard]] double bandwidth_factor(bool on_node, const Links& links) const {
    return std::min(1.0, fastest_of(on_node ? node : network) / slowest_of(links));
  }
  /// Makes the time of a single message that of its protocol. The difference from the fastest protocol counts
  /// as latency in SimGrid, so that it takes no bandwidth from other messages.
  [[nodiscard]] double latency_factor(double bytes, bool on_node, const Links& links) const {
    double of_links = 0;
    for (const Link* link : links) of_links += link->get_latency();
    if (of_links == 0) return 1;
    const std::vector<double>& protocol = row_for(on_node ? node : network, bytes).values;
    const double hops = on_node || links.size() < 2 ? 0 : hop * static_cast<double>(links.size() - 2);
    const double bandwidth = slowest_of(links) * bandwidth_factor(on_node, links);
    const double slower = std::max(0.0, bytes / protocol[1] - bytes / bandwidth);
    return (protocol[0] + hops + slower) / of_links;
  }
};

/// In SimGrid, a message that a factor keeps below a link's speed still takes the whole link. So each
/// message on a link gets the link's speed, up to the real bandwidth. Returns how many messages fill a link.
std::size_t let_links_be_shared(double fastest) {
  const Links links = simgrid::s4u::Engine::get_instance()->get_filtered_links(
      [](const Link* link) { return link->get_sharing_policy() != Link::SharingPolicy::FATPIPE; });
  const double slowest = slowest_of(links);
  if (links.empty() || slowest <= fastest) return 1;
  const double more = slowest / fastest;
  for (Link* link : links) {
    link->set_sharing_policy(Link::SharingPolicy::NONLINEAR, [slowest, more](double capacity, int messages) {
      return std::min(slowest * messages, more * capacity);
    });
  }
  return static_cast<std::size_t>(std::ceil(more));
}

}  // namespace

std::vector<Row> rows_of(const std::string& property, std::size_t values) {
  const char* text = simgrid::s4u::this_actor::get_host()->get_property(property);
  std::vector<Row> rows;
  if (text == nullptr) return rows;
  std::istringstream parts{std::string(text)};
  for (std::string part; std::getline(parts, part, ';');) {
    std::vector<double> numbers = parse_numbers(property, part);
    if (numbers.size() != values + 1) refuse(property, part);
    const double from = numbers.front();
    if (rows.empty() ? from != 0 : from <= rows.back().from) refuse(property, part);
    numbers.erase(numbers.begin());
    rows.push_back({from, std::move(numbers)});
  }
  return rows;
}

const Row& row_for(const std::vector<Row>& rows, double bytes) {
  auto row = rows.end() - 1;
  while (row != rows.begin() && row->from > bytes) --row;
  return *row;
}

double value_of(const std::string& property) {
  const char* text = simgrid::s4u::this_actor::get_host()->get_property(property);
  if (text == nullptr) return 0;
  const std::vector<double> numbers = parse_numbers(property, text);
  if (numbers.size() != 1) refuse(property, text);
  return numbers.front();
}

std::size_t set_protocols() {
  // All hosts of our platforms have the same properties.
  const Protocols protocols{rows_of("stretto/network", 2), rows_of("stretto/node", 2),
                            value_of("stretto/hop")};
  if (protocols.network.empty() || protocols.node.empty()) return 1;
  using simgrid::s4u::Host;
  auto* model = simgrid::s4u::Engine::get_instance()->get_netzone_root()->get_network_model();
  model->set_lat_factor_cb([protocols](double bytes, const Host* from, const Host* to, const Links& links,
                                       const Zones& /*zones*/) {
    note_start(from, to, bytes);
    return protocols.latency_factor(bytes, from == to, links);
  });
  model->set_bw_factor_cb(
      [protocols](double, const Host* from, const Host* to, const Links& links, const Zones& /*zones*/) {
        return protocols.bandwidth_factor(from == to, links);
      });
  return let_links_be_shared(fastest_of(protocols.network));
}

}  // namespace stretto::simulate
