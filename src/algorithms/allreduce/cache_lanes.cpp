// SPDX-License-Identifier: Apache-2.0
// Allreduces by last-level cache, for nodes with many ranks. A line of memory takes several times as long
// between two caches as inside one, and a rank that waits for all others waits for p-1 lines. So the ranks of
// a cache (cache_groups.hpp) come first, each group in one round, as in `two_shot`. Then any allreduce runs
// among the groups, and the groups' ranks get the result in one round.
//
// Cache leaders: the first rank of a group reduces the whole message, and joins the allreduce among the
// groups. If that is one shot, there are three waits, which suits short messages.
//
// Cache lanes: the message is cut into L lanes (L = the ranks of the smallest group). Rank l of each group
// reduces lane l, and L allreduces among the groups run side by side. So each byte crosses from cache to
// cache once in each direction, if the part sends the fewest bytes. With `two_shot` inside, there are four
// waits, and 2(m-1) + 2(g-1) messages for g groups of m ranks, in place of 2(p-1).
//
// A group reduces by the fixed tree in rank order. So rank order is kept if each group holds consecutive
// ranks and the part keeps it. Otherwise the operands of a group follow each other, and groups are in the
// order of their lowest ranks.
//
// Source: multi-leader designs such as DPML (Bayatpour et al. 2017), with caches in place of nodes; leaders
// of caches as in XHC (Katevenis, Ploumidis and Marazakis, "Impact of Cache Coherence on the Performance of
// Shared-Memory based MPI Primitives", ICPP 2023).
#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/lanes.hpp"
#include "algorithms/allreduce/reduce_in_fixed_tree.hpp"
#include "algorithms/cache_groups.hpp"

namespace stretto::allreduce {
namespace {

using Groups = std::vector<std::vector<int>>;

std::size_t smallest(const Groups& groups) {
  return std::ranges::min_element(groups, {}, &std::vector<int>::size)->size();
}

void reduce_lane(Schedule& schedule, const Lanes& group) {
  std::vector<Slice> contributions(group.ranks.size(), group.lane(Buffer::input, group.me));
  // Each rank begins with the rank after itself, so that not all send to the same one at once.
  for (int steps = 1; steps < group.size(); ++steps) {
    const int to = group.ahead(steps);
    const int from = group.back(steps);
    if (group.has_lane(to)) schedule.send(group.lane(Buffer::input, to), group.rank(to));
    if (!group.has_lane()) continue;
    const Slice own = group.lane(Buffer::output, group.me);
    const Slice theirs = scratch(schedule.add_scratch(own.first, own.count), own.count);
    schedule.recv(theirs, group.rank(from));
    contributions[static_cast<std::size_t>(from)] = theirs;
  }
  schedule.end_round();
  if (!group.has_lane()) return;
  reduce_in_fixed_tree(schedule, std::move(contributions), group.lane(Buffer::output, group.me));
}

Schedule by_cache(const Task& task, int rank, const Groups& groups, int lanes) {
  std::size_t mine = 0;
  while (!std::ranges::binary_search(groups[mine], rank)) ++mine;
  const auto me = std::ranges::lower_bound(groups[mine], rank) - groups[mine].begin();
  const Schedule across =
      build(task.parts[0], Topology::flat(static_cast<int>(groups.size())), 0, static_cast<int>(mine));
  const Lanes group{
      .ranks = groups[mine], .me = static_cast<int>(me), .begins = Lanes::alike(lanes, across.blocks())};
  Schedule schedule(task.ranks(), rank, group.blocks());
  reduce_lane(schedule, group);
  if (group.has_lane()) {
    std::vector<int> ranks;
    for (const std::vector<int>& one : groups) ranks.push_back(one[static_cast<std::size_t>(me)]);
    group.append_across(schedule, across, ranks);
  }
  group.append_allgather(schedule, Pace::at_once);
  return schedule;
}

bool are_runs(const Groups& groups) {
  int next = 0;
  return std::ranges::all_of(groups, [&](const std::vector<int>& group) {
    return std::ranges::all_of(group, [&](int rank) { return rank == next++; });
  });
}

}  // namespace

Schedule cache_leaders(const Task& task, int rank) {
  return by_cache(task, rank, cache_groups(task.topology), 1);
}

Schedule cache_lanes(const Task& task, int rank) {
  const Groups groups = cache_groups(task.topology);
  return by_cache(task, rank, groups, static_cast<int>(smallest(groups)));
}

bool by_cache_keeps_order(const Task& task) {
  const Groups groups = cache_groups(task.topology);
  return are_runs(groups) && keeps_order(task.parts[0], Topology::flat(static_cast<int>(groups.size())));
}

bool by_cache_has_fixed_tree(const Task& task) {
  const Groups groups = cache_groups(task.topology);
  const bool perfect = std::has_single_bit(static_cast<unsigned>(task.ranks())) &&
                       groups.size() * smallest(groups) == static_cast<std::size_t>(task.ranks());
  return perfect && are_runs(groups) &&
         has_fixed_tree(task.parts[0], Topology::flat(static_cast<int>(groups.size())));
}

std::string_view cache_leaders_unsupported(const Task& task) {
  if (task.topology.nodes > 1) return "it is for ranks of one node; smp does the same for nodes";
  const auto groups = cache_groups(task.topology).size();
  if (groups == 1) return "all ranks are in one group, so its part would have nothing to do";
  return groups == static_cast<std::size_t>(task.ranks())
             ? "each cache has one rank, so only its part would run"
             : "";
}

std::string_view cache_lanes_unsupported(const Task& task) {
  if (task.topology.nodes > 1) return "it is for ranks of one node; multilane does the same for nodes";
  const Groups groups = cache_groups(task.topology);
  if (groups.size() == 1) return "all ranks are in one group, so its part would have nothing to do";
  return smallest(groups) == 1 ? "a cache has one rank only, so there are no lanes" : "";
}

}  // namespace stretto::allreduce
