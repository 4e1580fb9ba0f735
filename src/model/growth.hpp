// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "algorithms/registry.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// Returns equal nodes with consecutive ranks: a smaller cluster, from which larger ones are extrapolated.
[[nodiscard]] Topology uniform(int nodes, int ppn);

/// Returns half as many nodes, rounded. The result is a power of two exactly if `nodes` is one: only then do
/// the recursive algorithms need no extra rounds.
[[nodiscard]] int half_of(int nodes);

/// Finds out on small clusters how the schedules of a recipe grow with the number of equal nodes. It builds
/// nothing of the large cluster: where each rank has a message for each other one, a single schedule of a
/// million ranks takes a second and 300 MB.
class Growth {
 public:
  /// The most nodes of the small clusters.
  static constexpr int most_nodes = 256;

  Growth(Recipe recipe, int ppn, int root);

  /// Whether a rank has further messages for further nodes, or waits for them on a chain. If so, time is
  /// linear in nodes. Otherwise time is linear in rounds, whose number grows with the logarithm of the nodes.
  [[nodiscard]] bool is_by_nodes() const { return is_by_nodes_; }
  /// Whether the message is cut into more blocks for more nodes.
  [[nodiscard]] bool cuts_by_nodes() const { return cuts_by_nodes_; }
  /// After this many doublings of the nodes, the same number of rounds and messages is always added: 2 for
  /// trees of radix 4. 0: the growth is not that regular.
  [[nodiscard]] int period() const { return period_; }

  /// Whether further rounds carry next to nothing, because a rank sends and receives the same number of bytes
  /// on any number of nodes: in a halving, messages become ever shorter.
  [[nodiscard]] bool has_short_rounds() const { return has_short_rounds_; }

  [[nodiscard]] int blocks(int nodes) { return most(nodes).blocks; }
  /// The rounds of the busiest rank.
  [[nodiscard]] double rounds(int nodes);
  /// The actions of all ranks, if each had as many as the busiest one.
  [[nodiscard]] std::size_t most_steps(int nodes);
  /// The actions of all ranks, approximately. Only for up to `most_nodes` nodes.
  [[nodiscard]] std::size_t steps(int nodes);

 private:
  /// The greatest numbers of any rank.
  struct Most {
    int rounds = 0;
    int messages = 0;
    std::size_t actions = 0;
    std::int64_t moved = 0;  // blocks
    int blocks = 1;
  };
  const Most& most(int nodes);
  [[nodiscard]] int depth(int nodes) const;
  [[nodiscard]] int find_period();

  Recipe recipe_;
  int ppn_;
  int root_;
  std::map<int, Most> most_;  // by nodes
  std::map<int, std::size_t> steps_;
  bool is_by_nodes_ = false;
  bool cuts_by_nodes_ = false;
  bool has_short_rounds_ = false;
  int period_ = 0;
};

}  // namespace stretto
