// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/calibration/phases/phases.hpp"
#include "threads/clock.hpp"

namespace stretto::bench {
namespace {

constexpr std::size_t shortest = std::size_t{8} << 10U;
constexpr std::size_t longest = std::size_t{16} << 20U;
constexpr double sample_seconds = 400e-6;
constexpr double shaped_sample_seconds =
    80e-3;  // the effect of two directions on each other takes time to show
constexpr int most_in_sample = 64;
constexpr int least_rounds = 3;
constexpr int most_rounds = 25;

/// Returns the pair, and a third rank at their distance if there is one.
std::vector<int> find_ranks(const Topology& topology, const Level& level) {
  const int one = level.pair[0];
  const int other = level.pair[1];
  const auto socket = [&](int rank) { return topology.socket_of[static_cast<std::size_t>(rank)]; };
  for (int rank = 0; rank < topology.ranks(); ++rank) {
    if (rank == one || rank == other) continue;
    const bool on_the_node = topology.node(rank) == topology.node(one);
    const bool fits = level.name == "network" ? !on_the_node && topology.node(rank) != topology.node(other)
                      : level.name == "node"  ? on_the_node
                                              : socket(rank) == socket(one);
    if (fits) return {one, other, rank};
  }
  return level.pair;
}

/// Measures whether a rank sends and receives at once.
class Duplex : public LevelPhase {
 public:
  Duplex(Site& site, std::size_t level, const OnProgress& on_progress)
      : LevelPhase(site, level, on_progress, find_ranks(site.topology, site.levels[level])) {}

  double weight() const override { return level().name == "network" ? 6 : 2; }

 private:
  void lead(double seconds, int pass) override {
    const double end = seconds_now() + seconds;
    if (pass == 0) list_sizes(seconds);
    take_until(end, sizes_.size(), least_rounds, most_rounds,
               [this](std::size_t number) { sample(sizes_[number]); });
  }

  /// Lists as many sizes as the time allows for the fewest rounds, if messages in both directions take twice
  /// as long.
  void list_sizes(double seconds) {
    double taken = 0;
    for (std::size_t bytes = shortest; bytes <= longest; bytes *= 2) {
      const Team::Row row = row_for(bytes);
      taken += 4 * (row.before + row.count) * level().seconds(bytes);
      if (taken * (least_rounds + 1) > seconds && !sizes_.empty()) break;
      sizes_.push_back(bytes);
      rows_.emplace(bytes, row);
    }
  }

  /// Returns how many messages to send. The first ones are not timed: the ranks start some microseconds
  /// apart, and the bytes that an idle link has saved up must be used up, as in a program that sends more
  /// than one message.
  Team::Row row_for(std::size_t bytes) const {
    const double wanted = level().burst > 0 ? shaped_sample_seconds : sample_seconds;
    const double count = std::ceil(wanted / level().seconds(bytes) / 2) * 2;
    const double before = std::ceil(1.5 * level().burst / static_cast<double>(bytes));
    return {static_cast<int>(std::clamp(count, 2.0, most_in_sample * 1.0)),
            static_cast<int>(std::max(before, 1.0))};
  }

  void sample(std::size_t bytes) {
    const Team::Row& row = rows_.at(bytes);
    const auto add = [&](const char* what, double seconds) {
      records().add({{"what", what}, {"level", level().name}, {"bytes", bytes}, {"count", row.count}},
                    seconds);
      report_progress();
    };
    add("one-way", team().round_trips(bytes, 1, row));
    add("exchange", team().exchanges(bytes, 1, row));
    if (team().ranks().size() > 2) add("shift", team().shifts(bytes, row));
  }

  std::vector<std::size_t> sizes_;
  std::map<std::size_t, Team::Row> rows_;  // the same in all passes
};

}  // namespace

std::unique_ptr<Phase> make_duplex(Site& site, std::size_t level, const Phase::OnProgress& on_progress) {
  return std::make_unique<Duplex>(site, level, on_progress);
}

}  // namespace stretto::bench
