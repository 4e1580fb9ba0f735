// SPDX-License-Identifier: Apache-2.0
#include "learn/network/links.hpp"

#include <algorithm>
#include <utility>

#include "text/size.hpp"

namespace stretto {
namespace {

/// What is known about a link is wrong if its rate, as a part of the others', is more than this factor away.
constexpr double wrong_rate = 1.3;
/// A slow link shows if the others carry more than it by this factor. In a ring that waits for a slow link,
/// the others seem slower than they are, because acknowledgements wait behind data: half the rate looks like
/// 0.7.
constexpr double telling = 1.2;
/// A look says something if each node has sent so many bytes, because links save up some hundred kilobytes.
constexpr double least_bytes = mebibyte;
/// The kernel counts in steps of 4 or 10 ms, so a shorter time counts as this.
constexpr double least_busy = 0.03;
/// The least that a node may send, as a part of what the busiest one sends.
constexpr double least_part = 0.4;

double median(std::vector<double> all) {
  std::ranges::sort(all);
  return all[all.size() / 2];
}

bool is_wrong(double known, double seen) {
  return seen > wrong_rate * known || known > wrong_rate * seen;
}

}  // namespace

double least_fast_rate(std::vector<double> rates, double factor) {
  std::ranges::sort(rates);
  if (rates.empty() || !(rates.front() > 0)) return 0;
  double fast = 0;
  double widest = factor;
  for (std::size_t i = 1; i < rates.size(); ++i) {
    if (rates[i] > widest * rates[i - 1]) {
      widest = rates[i] / rates[i - 1];
      fast = rates[i];
    }
  }
  return fast;
}

LinkFigures::LinkFigures(std::span<const LinkTraffic> traffic, int own_node, double seconds)
    : all_(parts * traffic.size() + 1, 0) {
  LinkTraffic own;
  for (const LinkTraffic& one : traffic) {
    own.bytes += one.bytes;
    own.longest_busy = std::max(own.longest_busy, one.longest_busy);
    own.all_busy += one.all_busy;
  }
  const std::size_t nodes = traffic.size();
  all_[2 * nodes + static_cast<std::size_t>(own_node)] = own.bytes;
  all_.back() = own.bytes / std::max(seconds, least_busy);
  const auto note = [&](std::size_t node, const LinkTraffic& of) {
    const double busy = std::max(of.all_busy, least_busy);
    all_[node] = std::max(all_[node], of.bytes / std::max(of.longest_busy, least_busy));
    all_[nodes + node] =
        std::max(all_[nodes + node], of.bytes / std::min(busy, std::max(seconds, least_busy)));
  };
  if (own.bytes < least_bytes) return;
  note(static_cast<std::size_t>(own_node), own);
  // If a rank sends to one other node above all, the slower one of both links decides. So the other node's is
  // as fast at least.
  for (std::size_t node = 0; node < nodes; ++node) {
    if (traffic[node].bytes >= own.bytes / 2) note(node, traffic[node]);
  }
}

bool LinkFigures::are_telling() const {
  const auto [least_sent, most_sent] = std::ranges::minmax(part(2));
  return least_sent >= least_bytes && least_sent >= least_part * most_sent && std::ranges::min(most()) > 0;
}

LinkWatch::LinkWatch(const Machine& machine, int nodes) {
  for (int node = 0; node < nodes; ++node) rates_.push_back(machine.limit_of(node, nodes).bandwidth);
}

/// Returns what a look says. What it does not say is as known.
LinkWatch::Seen LinkWatch::see(const LinkFigures& figures) const {
  const std::vector<double> most(figures.most().begin(), figures.most().end());
  const double least_fast = least_fast_rate(most, telling);
  const double usual = median(most);
  const double usual_least = median({figures.least().begin(), figures.least().end()});
  const double known_fast = std::ranges::max(rates_);
  // Where cores or other ranks decide, no link shows what it can do.
  const bool are_used = usual_least > fast() / wrong_rate;
  Seen seen;
  for (std::size_t node = 0; node < most.size(); ++node) {
    // A spec that goes by the links lets each carry its share in the same time. So a slow link that carries
    // more than it should be able to may carry any amount: equal shares will show.
    const double known = rates_[node] * wrong_rate;
    const bool is_fast =
        are_used && most[node] > known && (most[node] > usual / wrong_rate || figures.least()[node] > known);
    // Other links may only have had more time to save up bytes, so a rate is also compared with the known
    // one.
    const bool is_slower = rates_[node] < known_fast || most[node] < rates_[node] / wrong_rate;
    const bool is_slow = is_slower && most[node] < least_fast && most[node] < usual_least / telling;
    seen.parts.push_back(is_fast ? 1 : is_slow ? most[node] / fast() : rates_[node] / known_fast);
  }
  return seen;
}

/// The rate of the fast links: what they have carried for long, unless a slow one has always held them back.
double LinkWatch::fast() const {
  constexpr double well_used = 0.8;
  const double known = std::ranges::max(rates_);
  return most_throughput_ > well_used * known ? most_throughput_ : known;
}

bool LinkWatch::look(const LinkFigures& figures) {
  if (!figures.are_telling()) return false;
  if (looks_to_wait_ > 0) {
    --looks_to_wait_;
    return false;
  }
  most_throughput_ = std::max(most_throughput_, figures.throughput());
  Seen seen = see(figures);
  const double known_fast = std::ranges::max(rates_);
  std::vector<double> corrected;
  bool are_others = false;
  bool have_changed = false;
  for (std::size_t node = 0; node < rates_.size(); ++node) {
    const double known = rates_[node] / known_fast;
    const bool is_other = is_wrong(known, seen.parts[node]);
    const bool has_changed = is_other && last_ && is_wrong(known, last_->parts[node]);
    corrected.push_back((has_changed ? seen.parts[node] : known) * fast());
    are_others = are_others || is_other;
    have_changed = have_changed || has_changed;
  }
  if (have_changed) {
    rates_ = std::move(corrected);
    last_.reset();
    if (++corrections_ > free_corrections) looks_to_wait_ = 1 << std::min(corrections_, 20);
  } else if (are_others) {
    last_ = std::move(seen);
  } else if (last_ && std::exchange(last_->is_hidden, true)) {
    last_.reset();
  }
  return have_changed;
}

void set_link_rates(const std::vector<double>& rates, Machine& machine) {
  const auto [least, most] = std::ranges::minmax(rates);
  const double before =
      machine.node_rates.empty() ? machine.node.bandwidth : std::ranges::max(machine.node_rates);
  machine.node.bandwidth = least;
  machine.node_rates = most > least ? rates : std::vector<double>{};
  // Where links save up bytes, single messages pass at another rate than that of the link.
  if (machine.node.burst > 0 || !(before > 0)) return;
  for (Protocol& row : machine.levels.at(static_cast<std::size_t>(Level::network)))
    row.bandwidth *= most / before;
}

}  // namespace stretto
