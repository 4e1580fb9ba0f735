// SPDX-License-Identifier: Apache-2.0
// NAP, the node-aware parallel allreduce: all P ranks of a node (P = min ppn) take a share of the messages
// between nodes, so that a rank sends ceil(log_P(nodes)) of them where one leader a node would send
// ceil(log_2(nodes)). For small messages: each round carries the whole message.
//
// First an allreduce inside each node. Then, over a run of nodes in G <= P subgroups, each of which has done
// the same among its own nodes: lane l of a node (its local rank l) in subgroup s exchanges with lane s of
// the node that has the same position in subgroup l, so that the lanes of each node hold the partials of all
// subgroups; lane s idles, since it holds its own subgroup's. An allreduce inside the node combines them.
//
// Any number of nodes: subgroups differ by one node at most, longer ones first. The last node of a longer
// subgroup has no partner in a shorter one. Nobody there misses its message, since each has a partner among
// the other nodes of the longer subgroup, but an idle rank of each shorter subgroup must send it that
// subgroup's partial. There are enough of them for one message each: m nodes of P - G + 1 idle lanes against
// at most G - 1 longer subgroups. (Subgroups are unequal only if n nodes are cut in G = ceil(n / P^i) with i
// >= 1. Then n > (G - 1) P, and m = floor(n / G) makes m (P - G + 1) >= G - 1.) So a rank sends one message a
// step, except one that is alone on its node, which stands for two lanes. The paper (III-A) fills all
// subgroups but the last, which may then have one node and too few idle ranks.
//
// Partials are of neighbouring runs of nodes, and those with the same slots combine them in the same way on
// every node: rank order is kept where nodes are runs of ranks, and all ranks get the same bits. No identity
// of the operation is ever needed.
//
// Where nodes are no power of P the paper's last step has few subgroups and the others P; here all have about
// as many, where that comes out even.
//
// Source: section III of Bienz, Olson and Gropp, Node-aware improvements to allreduce, 2019.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "schedule/partition.hpp"

namespace stretto::allreduce {
namespace {

/// A step between nodes, seen from one of them: `groups` subgroups of the nodes from `first` on.
struct Step {
  int first;
  int nodes;
  int groups;
  int group = 0;     // the subgroup of this node
  int position = 0;  // this node's place in it

  [[nodiscard]] int begin(int index) const {
    return first + static_cast<int>(cut().begin(static_cast<std::size_t>(index)));
  }
  [[nodiscard]] int size(int index) const { return begin(index + 1) - begin(index); }
  [[nodiscard]] int longer() const { return nodes % groups; }
  [[nodiscard]] int shortest() const { return nodes / groups; }

 private:
  [[nodiscard]] Partition cut() const {
    return {static_cast<std::size_t>(nodes), static_cast<std::size_t>(groups)};
  }
};

/// How many subgroups to cut nodes into, so that as few steps are left as can be.
int groups_of(int nodes, int base) {
  int most = 1;  // nodes of a subgroup: the highest power of the base that leaves two subgroups
  int steps = 1;
  for (; most <= (nodes - 1) / base; ++steps) most *= base;
  const int fewest = (nodes - 1) / most + 1;
  // Of several steps all had better have as many subgroups, since each lets a node send as many messages
  // but one: 64 nodes of 16 ranks send 7 + 7 for 15 + 3.
  int equal = 1;
  while (std::pow(equal, steps) < nodes) equal *= 2;
  const bool fits = equal <= base && nodes % equal == 0;
  return fits ? std::max(equal, fewest) : fewest;
}

/// The steps that a node takes part in, last one first.
std::vector<Step> steps_of(int node, int nodes, int base) {
  std::vector<Step> steps;
  int first = 0;
  while (nodes > 1) {
    Step step{.first = first, .nodes = nodes, .groups = groups_of(nodes, base)};
    while (node >= step.begin(step.group + 1)) ++step.group;
    first = step.begin(step.group);
    nodes = step.size(step.group);
    step.position = node - first;
    steps.push_back(step);
  }
  return steps;
}

class Nap {
 public:
  Nap(const Topology& topology, int rank)
      : topology_(topology),
        rank_(rank),
        place_(topology.place(rank)),
        mates_(topology.on_node(topology.node(rank))),
        schedule_(topology.ranks(), rank, 1) {}

  Schedule build() {
    combine(static_cast<int>(mates_.size()), Buffer::input);
    const int base = std::max(2, topology_.min_ppn);
    const std::vector<Step> steps = steps_of(topology_.node(rank_), topology_.nodes, base);
    if (!steps.empty()) slot_ = schedule_.add_scratch(0);
    for (std::size_t left = steps.size(); left > 0; --left) {
      exchange(steps[left - 1]);
      combine_slots(steps[left - 1]);
    }
    return std::move(schedule_);
  }

 private:
  /// A rank alone on its node stands for both lanes.
  [[nodiscard]] int rank_of(int node, int lane) const {
    const auto ranks = topology_.on_node(node);
    return ranks[std::min(static_cast<std::size_t>(lane), ranks.size() - 1)];
  }

  /// The idle rank of subgroup `from` that tells the last node of the longer subgroup `to`.
  [[nodiscard]] int helper(const Step& step, int from, int to) const {
    const int node = step.begin(from) + to % step.shortest();
    const int idle = to / step.shortest();
    return rank_of(node, idle == 0 ? from : step.groups + idle - 1);
  }

  void exchange(const Step& step) {
    const int node = topology_.node(rank_);
    for (int lane = 0; lane < step.groups; ++lane) {
      if (lane == step.group || rank_of(node, lane) != rank_) continue;
      if (step.position < step.size(lane)) {
        const int partner = rank_of(step.begin(lane) + step.position, step.group);
        schedule_.send(output(0), partner).recv(scratch(slot_), partner);
      } else {
        schedule_.recv(scratch(slot_), helper(step, lane, step.group));
      }
    }
    for (int group = 0; step.group >= step.longer() && group < step.longer(); ++group) {
      if (helper(step, step.group, group) != rank_) continue;
      schedule_.send(output(0), rank_of(step.begin(group + 1) - 1, step.group));
    }
    schedule_.end_round();
  }

  void combine_slots(const Step& step) {
    const int held = static_cast<int>(mates_.size());
    if (held == 1) {
      const Slice other = scratch(slot_);
      schedule_.reduce(output(0), step.group == 0 ? output(0) : other, step.group == 0 ? other : output(0));
      schedule_.end_round();
      return;
    }
    if (place_ < step.groups) combine(step.groups, place_ == step.group ? Buffer::output : Buffer::scratch);
    for (int have = step.groups; have < held; have *= 2) {
      if (place_ < have && place_ + have < held) {
        schedule_.send(output(0), mates_[static_cast<std::size_t>(place_ + have)]);
      } else if (place_ >= have && place_ < 2 * have) {
        schedule_.recv(output(0), mates_[static_cast<std::size_t>(place_ - have)]);
      }
      schedule_.end_round();
    }
  }

  /// Allreduce among the first local ranks of the node.
  void combine(int ranks, Buffer from) {
    const Topology flat = Topology::flat(ranks);
    schedule_.append(recursive_doubling({.topology = flat}, place_),
                     {.ranks = mates_, .input = from, .input_scratch = slot_});
  }

  const Topology& topology_;
  int rank_;
  int place_;
  std::span<const int> mates_;  // the ranks of this node
  Schedule schedule_;
  int slot_ = 0;
};

}  // namespace

Schedule nap(const Task& task, int rank) {
  return Nap(task.topology, rank).build();
}

}  // namespace stretto::allreduce
