// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "algorithms/registry.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// Equal nodes with consecutive ranks: a smaller cluster, from which larger ones are extrapolated.
[[nodiscard]] Topology uniform(int nodes, int ppn);

/// Half as many nodes, rounded. It is a power of two exactly if `nodes` is one: only then do the recursive
/// algorithms need no extra rounds.
[[nodiscard]] int half_of(int nodes);

/// How the schedules of a recipe grow with the number of equal nodes, as small clusters show it. Nothing of
/// the large cluster is built: where each rank has a message for each other one, a single schedule of a
/// million ranks takes a second and 300 MB.
class Growth {
 public:
  /// Seen on clusters of up to so many nodes.
  static constexpr int most_nodes = 256;

  Growth(Recipe recipe, int ppn, int root);

  /// Whether a rank has further messages for further nodes, or waits for them on a chain: then time is linear
  /// in nodes. Otherwise it is linear in rounds, whose number grows with the logarithm.
  [[nodiscard]] bool is_by_nodes() const { return is_by_nodes_; }
  /// Whether the message is cut into more blocks for more nodes.
  [[nodiscard]] bool cuts_by_nodes() const { return cuts_by_nodes_; }
  /// After so many doublings of the nodes there are always as many further rounds and messages: 2 for trees
  /// of radix 4. 0: it is not that regular.
  [[nodiscard]] int period() const { return period_; }

  /// Whether further rounds carry next to nothing, since a rank sends and receives as many bytes on any
  /// number of nodes: the messages of a halving are ever shorter.
  [[nodiscard]] bool has_short_rounds() const { return has_short_rounds_; }

  [[nodiscard]] int blocks(int nodes) { return most(nodes).blocks; }
  /// Of the busiest rank.
  [[nodiscard]] double rounds(int nodes);
  /// The actions of all ranks, if all had as many as the busiest one.
  [[nodiscard]] std::size_t most_steps(int nodes);
  /// The actions of all ranks, approximately. Only for up to `most_nodes` nodes.
  [[nodiscard]] std::size_t steps(int nodes);

 private:
  /// Of the rank that has most of each.
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
