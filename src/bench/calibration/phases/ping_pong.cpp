// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/calibration/common/eager.hpp"
#include "bench/calibration/phases/phases.hpp"
#include "bench/measure/median.hpp"
#include "threads/clock.hpp"

namespace stretto::bench {
namespace {

constexpr double sample_seconds = 200e-6;  // a sample takes at least about this long
constexpr int most_in_sample = 512;
constexpr int least_rounds = 4;
constexpr int most_rounds = 40;
constexpr std::size_t half_steps_from = 1024;
constexpr std::size_t longest_wanted = std::size_t{64} << 20U;
constexpr std::size_t longest_needed = std::size_t{64} << 10U;  // with less, nothing is measured
constexpr double bend = 0.08;  // a size this far off the line through its neighbours gets more neighbours
constexpr std::size_t most_new_sizes = 8;  // in flight
constexpr int refinements = 3;

/// Returns powers of two, and from 1 KiB on also 1.5 times each.
std::vector<std::size_t> list_sizes(std::size_t longest) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 1; bytes <= longest; bytes *= 2) {
    sizes.push_back(bytes);
    if (bytes >= half_steps_from && bytes + bytes / 2 <= longest) sizes.push_back(bytes + bytes / 2);
  }
  return sizes;
}

class PingPong : public LevelPhase {
 public:
  using LevelPhase::LevelPhase;

  double weight() const override { return level().name == "network" ? 8 : 5; }

 private:
  struct Case {
    int count = 1;
    std::vector<double> seconds;
  };

  /// Chooses the longest message. All ranks compute the same figures.
  void prepare(double seconds, int pass) override {
    if (pass > 0) return;
    const auto needed = [&](std::size_t longest) {
      double sum = 0;
      for (const std::size_t bytes : list_sizes(longest)) sum += sample_time(bytes);
      return sum * (least_rounds + 1);
    };
    longest_ = longest_wanted;
    // Some sizes are added later, and the search for the eager limit takes time too.
    while (longest_ > longest_needed && needed(longest_) > 0.6 * seconds) longest_ /= 2;
    if (needed(longest_) > seconds) {
      throw BudgetError("messages of level " + level().name, needed(longest_) / seconds);
    }
  }

  void lead(double seconds, int pass) override {
    const double end = seconds_now() + seconds;
    const EagerLimit limit =
        find_eager_limit(team(), level(), std::max(longest_, longest_needed), [this] { report_progress(); });
    nlohmann::ordered_json about{{"what", "eager"}, {"level", level().name}, {"bytes", limit.eager}};
    about["synchronous"] = limit.synchronous ? nlohmann::ordered_json(*limit.synchronous) : nullptr;
    records().add(about, std::vector<double>{});

    if (pass == 0) {
      for (const std::size_t bytes : list_sizes(longest_)) add(bytes);
    }
    if (limit.eager > 0) add(limit.eager);
    if (limit.synchronous) add(*limit.synchronous);
    for (int round = 0; round < most_rounds; ++round) {
      const double begin = seconds_now();
      for (const std::size_t bytes : shuffled()) sample(bytes);
      const double now = seconds_now();
      if (round + 1 >= least_rounds && now + (now - begin) > end) break;
      const double left = end - now - (least_rounds - round) * (now - begin);
      if (pass == 0 && round > 0 && round <= refinements) refine(left / least_rounds);
    }
    for (auto& [bytes, one] : cases_) {
      records().add({{"what", "ping-pong"}, {"level", level().name}, {"bytes", bytes}, {"count", one.count}},
                    one.seconds);
      one.seconds.clear();
    }
  }

  /// Adds a size. The samples do not include what a first message sets up, such as registered memory.
  void add(std::size_t bytes) {
    if (bytes > longest_ || cases_.contains(bytes)) return;
    sleep(level().pause());
    team().round_trips(bytes, bytes, {1});
    sleep(level().pause());
    Case one;
    const double wanted = sample_seconds / team().round_trips(bytes, bytes, {1});
    one.count = static_cast<int>(std::clamp(wanted, 1.0, most_in_sample * 1.0));
    // The bytes that the link has saved up must last for the whole sample, or be used up in its first part.
    if (level().burst > 0) {
      const double lasts = level().burst / 2 / static_cast<double>(bytes);
      one.count = std::clamp(static_cast<int>(lasts), 1, one.count);
    }
    cases_.emplace(bytes, one);
  }

  void sample(std::size_t bytes) {
    Case& one = cases_.at(bytes);
    sleep(level().pause());
    one.seconds.push_back(team().round_trips(bytes, bytes, {one.count}) / 2);
    report_progress();
  }

  std::vector<std::size_t> shuffled() {
    std::vector<std::size_t> sizes;
    for (const auto& [bytes, one] : cases_) sizes.push_back(bytes);
    shuffle(sizes);
    return sizes;
  }

  /// Adds sizes where the times bend most, as long as they add no more than `seconds` to a round.
  void refine(double seconds) {
    struct Bend {
      double deviation;
      std::size_t below, at, above;
    };
    std::vector<Bend> bends;
    if (cases_.size() < 3) return;
    for (auto below = cases_.begin(), at = std::next(below), above = std::next(at); above != cases_.end();
         ++below, ++at, ++above) {
      const double part =
          static_cast<double>(at->first - below->first) / static_cast<double>(above->first - below->first);
      const double low = median(below->second.seconds);
      const double line = low + part * (median(above->second.seconds) - low);
      const double deviation = std::abs(median(at->second.seconds) / line - 1);
      if (deviation > bend) bends.push_back({deviation, below->first, at->first, above->first});
    }
    std::sort(bends.begin(), bends.end(),
              [](const Bend& one, const Bend& other) { return one.deviation > other.deviation; });
    std::size_t added = 0;
    for (const Bend& one : bends) {
      for (const auto& [low, high] : {std::pair(one.below, one.at), std::pair(one.at, one.above)}) {
        const auto middle = static_cast<std::size_t>(std::sqrt(static_cast<double>(low)) *
                                                     std::sqrt(static_cast<double>(high)));
        const double takes = sample_time(middle);
        if (static_cast<double>(high) < 1.08 * static_cast<double>(low) || high - low < 8) continue;
        if (added == most_new_sizes || takes > seconds || cases_.contains(middle)) continue;
        seconds -= takes;
        ++added;
        add(middle);
        // This point needs fewer samples than the others.
        sample(middle);
      }
    }
  }

  double sample_time(std::size_t bytes) const {
    return std::max(2 * level().seconds(bytes), sample_seconds) + level().pause();
  }

  std::size_t longest_ = 0;
  std::map<std::size_t, Case> cases_;
};

}  // namespace

std::unique_ptr<Phase> make_ping_pong(Site& site, std::size_t level, const Phase::OnProgress& on_progress) {
  return std::make_unique<PingPong>(site, level, on_progress);
}

}  // namespace stretto::bench
