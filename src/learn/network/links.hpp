// SPDX-License-Identifier: Apache-2.0
// What the calls of a job say about the links of its nodes. The kernel counts the bytes that each connection
// has delivered, and the time in which it was busy with them. A rank that computes, or comes late, keeps no
// connection busy. So that shows the rate of a link under any load, in any long call, without a message of
// its own.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "model/machine.hpp"

namespace stretto {

/// Returns the least rate of the fast links, if there are fast and slow ones: rates differ by more than
/// `factor` at the widest gap. Returns 0 if the links are alike, or if some rate is not known.
double least_fast_rate(std::vector<double> rates, double factor);

/// What one rank has sent to a node between two looks.
struct LinkTraffic {
  double bytes = 0;
  // Seconds:
  double longest_busy = 0;  // of the connection that was busy for longest
  double all_busy = 0;      // of all connections
};

/// What one rank says about the links. All ranks take the greatest figures of all.
class LinkFigures {
 public:
  /// `traffic`: [node]. `seconds`: the time since the last look.
  LinkFigures(std::span<const LinkTraffic> traffic, int own_node, double seconds);
  explicit LinkFigures(std::span<const double> agreed) : all_(agreed.begin(), agreed.end()) {}

  [[nodiscard]] const std::vector<double>& all() const { return all_; }
  /// [node] Bytes per second: what a link carries at most, and what it carries at least. A connection that
  /// was busy may have waited for others of the same node. 0: not known.
  [[nodiscard]] std::span<const double> most() const { return part(0); }
  [[nodiscard]] std::span<const double> least() const { return part(1); }
  /// Bytes per second of the link that has carried the most. No link carries more than it can for long.
  [[nodiscard]] double throughput() const { return all_.back(); }
  /// Whether all nodes have sent much, and about as much as each other: where several send to one, each of
  /// them seems to have a slow link.
  [[nodiscard]] bool are_telling() const;

 private:
  static constexpr std::size_t parts = 3;  // of one figure for each node
  [[nodiscard]] std::span<const double> part(std::size_t number) const {
    const std::size_t nodes = all_.size() / parts;
    return std::span(all_).subspan(number * nodes, nodes);
  }

  std::vector<double> all_;
};

/// Compares what calls say about the links with what is known, and corrects that.
class LinkWatch {
 public:
  explicit LinkWatch(const Machine& machine, int nodes);

  /// Takes the figures of a look. Returns whether the links are others than what was known: two looks in a
  /// row say the same. Links that change again and again are corrected more and more seldom.
  bool look(const LinkFigures& figures);
  /// [node] Bytes per second.
  [[nodiscard]] const std::vector<double>& rates() const { return rates_; }

 private:
  static constexpr int free_corrections = 4;

  struct Seen {
    std::vector<double> parts;  // [node] of the fastest link's rate
    bool is_hidden = false;     // the next look, perhaps at calls by another spec, did not say the same
  };
  [[nodiscard]] Seen see(const LinkFigures& figures) const;
  [[nodiscard]] double fast() const;

  std::vector<double> rates_;
  double most_throughput_ = 0;  // of all looks
  std::optional<Seen> last_;    // if it contradicts what was known
  int corrections_ = 0;
  int looks_to_wait_ = 0;
};

/// Sets the rates of the nodes' links, as LinkWatch gives them.
void set_link_rates(const std::vector<double>& rates, Machine& machine);

}  // namespace stretto
