// SPDX-License-Identifier: Apache-2.0
// NAP, the node-aware parallel allreduce: all P ranks of a node (P = min ppn) share the messages between
// nodes. A rank sends ceil(log_P(nodes)) of them; with one leader for each node, the leader would send
// ceil(log_2(nodes)). It suits small messages: each round carries the whole message.
//
// First comes an allreduce inside each node. Then a run of nodes is divided into G <= P subgroups, each of
// which has done the same among its own nodes. Lane l of a node (its local rank l) in subgroup s exchanges
// with lane s of the node that has the same position in subgroup l. So the lanes of each node hold the
// partial results of all subgroups; lane s idles, since it holds its own subgroup's. An allreduce inside the
// node combines them.
//
// Any number of nodes works. Subgroups differ by one node at most, and the longer ones come first. The last
// node of a longer subgroup has no partner in a shorter one. No rank of the shorter subgroup misses its
// message, since each has a partner among the other nodes of the longer subgroup. But an idle rank of each
// shorter subgroup must send that subgroup's partial result to the node without a partner. There are enough
// idle ranks for one message each: m nodes with P - G + 1 idle lanes for at most G - 1 longer subgroups.
// (Subgroups are unequal only if n nodes are cut in G = ceil(n / P^i) with i >= 1. Then n > (G - 1) P, and m
// = floor(n / G) makes m (P - G + 1) >= G - 1.) So a rank sends one message in a step, except a rank that is
// alone on its node and stands for two lanes. The paper (III-A) fills all subgroups but the last, which may
// then have one node and too few idle ranks.
//
// Partial results are of neighbouring runs of nodes, and ranks with the same slots combine them in the same
// way on every node. So rank order is kept if each node holds consecutive ranks, and all ranks get the same
// bits. The identity of the operation is never needed.
//
// If the number of nodes is no power of P, the paper's last step has few subgroups and the other steps have
// P. Here all steps have about equally many, if that needs no further step.
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

/// A step between nodes, as one of them takes it: the nodes from `first` on form `groups` subgroups.
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

/// Returns the number of subgroups that leaves the fewest steps.
int groups_of(int nodes, int base) {
  int most = 1;  // nodes of a subgroup: the highest power of the base that leaves two subgroups
  int steps = 1;
  for (; most <= (nodes - 1) / base; ++steps) most *= base;
  const int fewest = (nodes - 1) / most + 1;
  // Equally many subgroups in every step are best: in a step, a node sends one message less than there are
  // subgroups. With 8 and 8, 64 nodes of 16 ranks send 7 + 7 messages each; with 16 and 4, 15 + 3.
  int equal = 1;
  while (std::pow(equal, steps) < nodes) equal *= 2;
  const bool fits = equal <= base && nodes % equal == 0;
  return fits ? std::max(equal, fewest) : fewest;
}

/// Returns the steps in which a node takes part, the last one first.
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
  /// A rank that is alone on its node stands for both lanes.
  [[nodiscard]] int rank_of(int node, int lane) const {
    const auto ranks = topology_.on_node(node);
    return ranks[std::min(static_cast<std::size_t>(lane), ranks.size() - 1)];
  }

  /// The idle rank of subgroup `from` that sends to the last node of the longer subgroup `to`.
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

  /// Appends an allreduce among the first local ranks of the node.
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
