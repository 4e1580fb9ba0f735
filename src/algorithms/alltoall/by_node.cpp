// SPDX-License-Identifier: Apache-2.0
// Alltoall by node: each pair of nodes exchanges few messages, each with the blocks of many pairs of ranks.
// It is for short blocks, and works with any mapping and on ragged nodes.
//
// A node's first L ranks are its lanes. A rank at place k belongs to lane k mod L.
// 1. Inside a node every rank gives each lane the blocks for all ranks of that lane, on every node.
// 2. The ranks of a lane, one on each node, perform an alltoall by the part's algorithm: the block for a node
//    holds what all ranks here have for the ranks of the lane there.
// 3. If a lane has several ranks on a node, it gives each its blocks.
//
// multilane: L is the number of ranks on the emptiest node (full-lane alltoall of Träff and Hunold 2020; the
// node-aware alltoall of Bienz, Gropp and Olson). multilane(bruck) takes few rounds between nodes too
// (locality-aware Bruck: Bienz, Gautam and Kharel 2022). smp: L = 1, so the leaders are the only lane.
// multileader: L = radix.
//
// An alltoallv walks the schedule twice, first with lengths. For p = 32768 on nodes of 16 ranks a schedule
// takes less than 1.3 MB.
//
// With L lanes, a lane's rank sends p/L blocks to each other node, in one message. Between nodes each block
// goes once, unless the part sends it more often.
#include <algorithm>
#include <vector>

#include "algorithms/alltoall/alltoall.hpp"

namespace stretto::alltoall {
namespace {

class ByNode {
 public:
  ByNode(const Task& task, int rank, int lanes)
      : task_(task),
        topology_(task.topology),
        rank_(rank),
        lanes_(std::min(lanes, task.topology.min_ppn)),
        node_(topology_.node(rank)),
        place_(topology_.place(rank)),
        schedule_(task.ranks(), rank, task.ranks()) {}

  Schedule build() {
    give_to_lanes();
    if (place_ < lanes_) {
      exchange(arrange());
    }
    deliver();
    return std::move(schedule_);
  }

 private:
  /// The ranks of a lane on a node.
  [[nodiscard]] std::vector<int> members(int node, int lane) const {
    std::vector<int> ranks;
    for (int place = lane; place < topology_.ppn(node); place += lanes_) {
      ranks.push_back(topology_.rank_at(node, place));
    }
    return ranks;
  }

  /// The ranks of a lane on all nodes.
  [[nodiscard]] std::vector<int> members(int lane) const {
    std::vector<int> all;
    for (int node = 0; node < topology_.nodes; ++node) {
      const std::vector<int> some = members(node, lane);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  static std::vector<int> count_from(int first, std::size_t count) {
    std::vector<int> numbers;
    for (std::size_t i = 0; i < count; ++i) numbers.push_back(first + static_cast<int>(i));
    return numbers;
  }

  /// Step 1. A lane's rank gets, from each rank of the node, a block for each member of the lane.
  void give_to_lanes() {
    std::vector<Slice> packed;
    for (int lane = 0; lane < lanes_; ++lane) {
      const std::vector<int> for_ranks = members(lane);
      const auto count = static_cast<int>(for_ranks.size());
      const bool is_run =
          for_ranks.back() - for_ranks.front() + 1 == count && std::ranges::is_sorted(for_ranks);
      packed.push_back(is_run && lane != place_ ? input(for_ranks.front(), count)
                                                : scratch(add_blocks(schedule_, count), count));
      if (packed.back().buffer == Buffer::scratch) {
        schedule_.copy_each(Buffer::scratch, count_from(packed.back().first, for_ranks.size()), Buffer::input,
                            for_ranks);
      }
    }
    schedule_.end_round();
    for (int lane = 0; lane < lanes_; ++lane) {
      if (lane != place_)
        schedule_.send(packed[static_cast<std::size_t>(lane)], topology_.rank_at(node_, lane));
    }
    if (place_ < lanes_) {
      for (int place = 0; place < topology_.ppn(node_); ++place) {
        const Slice own = packed[static_cast<std::size_t>(place_)];
        if (place == place_) {
          from_place_.push_back(own.first);
          continue;
        }
        from_place_.push_back(add_blocks(schedule_, own.count));
        schedule_.recv(scratch(from_place_.back(), own.count), topology_.rank_at(node_, place));
      }
    }
    schedule_.end_round();
  }

  /// Puts the blocks for each node together. Returns where the blocks for each node begin, and the end.
  std::vector<int> arrange() {
    std::vector<int> borders;
    std::vector<int> from;
    int member = 0;  // of the lane, over all nodes
    for (int node = 0; node < topology_.nodes; ++node) {
      borders.push_back(static_cast<int>(from.size()));
      const auto count = static_cast<int>(members(node, place_).size());
      for (const int first : from_place_) {
        for (int i = 0; i < count; ++i) from.push_back(first + member + i);
      }
      member += count;
    }
    borders.push_back(static_cast<int>(from.size()));
    const int first = add_blocks(schedule_, borders.back());
    schedule_.copy_each(Buffer::scratch, count_from(first, from.size()), Buffer::scratch, from);
    schedule_.end_round();
    for (int& border : borders) border += first;
    return borders;
  }

  /// Step 2. `sent`: where the blocks for each node begin.
  void exchange(const std::vector<int>& sent) {
    const auto own_members = static_cast<int>(members(node_, place_).size());
    std::vector<int> borders{0};  // of the blocks that arrive from each node
    std::vector<int> ranks;
    for (int node = 0; node < topology_.nodes; ++node) {
      borders.push_back(borders.back() + topology_.ppn(node) * own_members);
      ranks.push_back(topology_.rank_at(node, place_));
    }
    from_node_ = is_final() ? 0 : add_blocks(schedule_, borders.back());
    const auto arriving = [&](int node) {
      const auto i = static_cast<std::size_t>(node);
      const int count = borders[i + 1] - borders[i];
      return is_final() ? output(borders[i], count) : scratch(from_node_ + borders[i], count);
    };
    if (is_regular()) {
      const Schedule part = stretto::build(task_.parts[0], topology_.of_leaders(), 0, node_);
      schedule_.append(part, {.ranks = ranks,
                              .input = Buffer::scratch,
                              .output = is_final() ? Buffer::output : Buffer::scratch,
                              .input_scratch = sent[0],
                              .output_scratch = from_node_,
                              .borders = borders,
                              .all_alike = true});
      return;
    }
    const auto leaving = [&](int node) {
      const auto i = static_cast<std::size_t>(node);
      return scratch(sent[i], sent[i + 1] - sent[i]);
    };
    schedule_.copy(arriving(node_), leaving(node_));
    for (int shift = 1; shift < topology_.nodes; ++shift) {
      const int to = (node_ + shift) % topology_.nodes;
      const int from = (node_ + topology_.nodes - shift) % topology_.nodes;
      schedule_.recv(arriving(from), ranks[static_cast<std::size_t>(from)]);
      schedule_.send(leaving(to), ranks[static_cast<std::size_t>(to)]).end_round();
    }
    schedule_.end_round();
  }

  /// Step 3.
  void deliver() {
    const std::vector<int>& sources = topology_.by_node;
    const auto p = static_cast<int>(sources.size());
    if (place_ >= lanes_) {
      const Slice whole = topology_.contiguous ? output(0, p) : scratch(add_blocks(schedule_, p), p);
      schedule_.recv(whole, topology_.rank_at(node_, place_ % lanes_)).end_round();
      if (!topology_.contiguous)
        schedule_.copy_each(Buffer::output, sources, Buffer::scratch,
                            count_from(whole.first, sources.size()));
      schedule_.end_round();
      return;
    }
    if (is_final()) return;
    const std::vector<int> ranks = members(node_, place_);
    for (std::size_t member = 0; member < ranks.size(); ++member) {
      std::vector<int> from;
      from.reserve(sources.size());
      for (int source = 0; source < p; ++source) {
        from.push_back(from_node_ + source * static_cast<int>(ranks.size()) + static_cast<int>(member));
      }
      if (ranks[member] == rank_) {
        schedule_.copy_each(Buffer::output, sources, Buffer::scratch, from);
        continue;
      }
      const int packed = add_blocks(schedule_, p);
      schedule_.copy_each(Buffer::scratch, count_from(packed, from.size()), Buffer::scratch, from);
      to_deliver_.push_back({packed, ranks[member]});
    }
    schedule_.end_round();
    for (const auto& [first, to] : to_deliver_) schedule_.send(scratch(first, p), to);
    schedule_.end_round();
  }

  /// Whether the blocks that arrive from the nodes are the output as they are.
  [[nodiscard]] bool is_final() const {
    return topology_.contiguous && topology_.ppn(node_) - place_ <= lanes_;
  }
  /// Whether the blocks of the exchange among nodes have one length.
  [[nodiscard]] bool is_regular() const { return topology_.min_ppn == topology_.max_ppn; }

  struct Delivery {
    int first;
    int to;
  };

  const Task& task_;
  const Topology& topology_;
  int rank_;
  int lanes_;
  int node_;
  int place_;
  Schedule schedule_;
  std::vector<int> from_place_;  // on a lane's rank: the first scratch block from each place
  int from_node_ = 0;            // and the first scratch block from the nodes
  std::vector<Delivery> to_deliver_;
};

}  // namespace

Schedule smp(const Task& task, int rank) {
  return ByNode(task, rank, 1).build();
}

Schedule multileader(const Task& task, int rank) {
  return ByNode(task, rank, task.radix).build();
}

Schedule multilane(const Task& task, int rank) {
  return ByNode(task, rank, task.topology.min_ppn).build();
}

}  // namespace stretto::alltoall
