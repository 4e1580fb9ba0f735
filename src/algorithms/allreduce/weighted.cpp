// SPDX-License-Identifier: Apache-2.0
// Weighted: for nodes whose links differ. Every rank owns a part of the message. The length of the part
// depends on the rank's link, and a rank on a slow link may own nothing. In round s of p-1, rank r sends its
// contribution to the part of rank r+s, and receives that of rank r-s to its own. Then the results are sent
// in the same way.
//
// A rank that owns the part s of n bytes sends (1-s)n bytes to owners and (p-1)sn of results, and receives as
// many. With links of f times a rate B, all links end together, after time T n/B, if
//
//   1 + (p-2) s = T f   for each rank, so   T = 2(p-1) / sum of all f,   or less for owners of nothing.
//
// No schedule is faster than that, since 2(p-1)n bytes must be sent in all, nor faster than n/(fB) for one
// rank, which must send its n bytes. A ring goes at the pace of the slowest link. The two halves use both
// directions of a slow link, one after the other. So this algorithm needs many segments: the results of one
// travel while others are being reduced.
//
// On equal links, all ranks own equal parts. Results are in rank order (lanes.cpp).
//
// Source: the least is that of Patarasuk and Yuan 2009 ("Bandwidth optimal all-reduce algorithms for clusters
// of workstations") with links of several rates; the shares are ours.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "algorithms/allreduce/allreduce.hpp"
#include "algorithms/allreduce/lanes.hpp"

namespace stretto::allreduce {
namespace {

/// The number of blocks of the longest part, unless all parts are equally long. It makes a part right to 3 %.
constexpr int longest_share = 16;

/// Returns each rank's share of the rate of its node's link. Nodes that are not named have the fastest link.
std::vector<double> rates_of(const Task& task) {
  std::vector<double> rates;
  rates.reserve(static_cast<std::size_t>(task.ranks()));
  for (int rank = 0; rank < task.ranks(); ++rank) {
    const auto node = static_cast<std::size_t>(task.topology.node(rank));
    const int percent = node < task.links.size() ? task.links[node] : whole_link;
    rates.push_back(static_cast<double>(percent) / task.topology.ppn(task.topology.node(rank)));
  }
  return rates;
}

/// Returns the part of the message that each rank should own. It is computed from whole numbers in one order,
/// so that all ranks find the same.
std::vector<double> parts_of(const std::vector<double>& rates) {
  const auto ranks = static_cast<double>(rates.size());
  std::vector<double> parts(rates.size(), 1 / ranks);
  if (rates.size() < 3) return parts;  // both ranks send everything, whoever owns it
  std::vector<bool> owns(rates.size(), true);
  for (bool has_changed = true; has_changed;) {
    double sum = 0;
    double owners = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (!owns[i]) continue;
      sum += rates[i];
      owners += 1;
    }
    const double time = (ranks - 2 + owners) / sum;
    has_changed = false;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      parts[i] = owns[i] ? (time * rates[i] - 1) / (ranks - 2) : 0;
      if (owns[i] && parts[i] <= 0) {
        owns[i] = false;
        has_changed = true;
      }
    }
  }
  return parts;
}

/// Returns the borders of the ranks' lanes, in blocks.
std::vector<int> borders_of(const std::vector<double>& parts) {
  const double longest = *std::ranges::max_element(parts);
  std::vector<int> shares;
  shares.reserve(parts.size());
  for (const double part : parts)
    shares.push_back(static_cast<int>(std::lround(longest_share * part / longest)));
  const int divisor = std::accumulate(shares.begin(), shares.end(), 0, std::gcd<int, int>);
  std::vector<int> begins{0};
  for (const int share : shares) begins.push_back(begins.back() + share / divisor);
  return begins;
}

}  // namespace

Schedule weighted(const Task& task, int rank) {
  std::vector<int> ranks(static_cast<std::size_t>(task.ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  const Lanes all{.ranks = ranks, .me = rank, .begins = borders_of(parts_of(rates_of(task)))};
  Schedule schedule(task.ranks(), rank, all.blocks());
  all.append_reduce_scatter(schedule);
  all.append_allgather(schedule, Pace::one_a_round);
  return schedule;
}

std::string_view weighted_unsupported(const Task& task) {
  if (task.topology.max_ppn > 1) return "ranks of a node share its link: multilane(weighted) is for them";
  const bool is_named = !task.links.empty() && static_cast<int>(task.links.size()) != task.topology.nodes;
  return is_named ? "its links are for another number of nodes" : "";
}

}  // namespace stretto::allreduce
