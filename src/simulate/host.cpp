// SPDX-License-Identifier: Apache-2.0
#include "simulate/host.hpp"

#include <algorithm>
#include <cmath>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "simulate/order.hpp"

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

/// SimGrid multiplies what a route's links have by factors.
struct Protocols {
  std::vector<Row> network;
  std::vector<Row> node;
  double hop;

  /// Makes the time of a message alone the protocol's. What a message takes longer than its links need is
  /// latency to SimGrid: a factor of bandwidth below one would take the links away from other messages, too.
  [[nodiscard]] double latency_factor(double bytes, bool on_node, const Links& links) const {
    double of_links = 0;
    double bandwidth = INFINITY;
    for (const simgrid::s4u::Link* link : links) {
      of_links += link->get_latency();
      bandwidth = std::min(bandwidth, link->get_bandwidth());
    }
    if (of_links == 0) return 1;
    const std::vector<double>& protocol = row_for(on_node ? node : network, bytes).values;
    const double hops = on_node || links.size() < 2 ? 0 : hop * static_cast<double>(links.size() - 2);
    const double beyond_links = std::max(0.0, bytes / protocol[1] - bytes / bandwidth);
    return (protocol[0] + hops + beyond_links) / of_links;
  }
};

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

void set_protocols() {
  // All hosts of a platform of ours have the same ones.
  const Protocols protocols{rows_of("stretto/network", 2), rows_of("stretto/node", 2),
                            value_of("stretto/hop")};
  if (protocols.network.empty() || protocols.node.empty()) return;
  using simgrid::s4u::Host;
  auto* model = simgrid::s4u::Engine::get_instance()->get_netzone_root()->get_network_model();
  model->set_lat_factor_cb([protocols](double bytes, const Host* from, const Host* to, const Links& links,
                                       const Zones& /*zones*/) {
    note_message(from, to, bytes);
    return protocols.latency_factor(bytes, from == to, links);
  });
  // Not SMPI's own ones, which are those of a cluster of 2013.
  model->set_bw_factor_cb([](double, const Host*, const Host*, const Links&, const Zones&) { return 1.0; });
}

}  // namespace stretto::simulate
