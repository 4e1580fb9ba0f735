// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>

#include "bench/calibration/phases/phases.hpp"
#include "bench/measure/median.hpp"
#include "threads/clock.hpp"

namespace stretto::bench {
namespace {

constexpr int messages = 64;
constexpr int window = 2;
constexpr double pause = 0.3;  // idle links have filled up again; buckets of clouds are even larger
constexpr double long_enough = 0.02;
constexpr std::size_t shortest = std::size_t{64} << 10U;
constexpr int least = 3;
constexpr std::size_t longest = std::size_t{4} << 20U;

/// A link that lets a burst pass and then sustains a bandwidth: bytes = burst + bandwidth * seconds.
struct Bucket {
  double bandwidth;
  double burst;
};

/// Fits the second half of a train by least squares. Messages in flight together may share the link and
/// arrive together. Only the last of these shows how much had arrived by then.
Bucket fit_bucket(const std::vector<double>& seconds, double bytes, double round_trip) {
  const double pace = seconds.back() / static_cast<double>(seconds.size());
  double n = 0;
  double sum_t = 0;
  double sum_b = 0;
  double sum_tt = 0;
  double sum_tb = 0;
  for (std::size_t i = seconds.size() / 2; i < seconds.size(); ++i) {
    if (i + 1 < seconds.size() && seconds[i + 1] - seconds[i] < pace / 2) continue;
    const double t = seconds[i] - round_trip;
    const double b = bytes * static_cast<double>(i + 1);
    n += 1;
    sum_t += t;
    sum_b += b;
    sum_tt += t * t;
    sum_tb += t * b;
  }
  const double bandwidth = (n * sum_tb - sum_t * sum_b) / (n * sum_tt - sum_t * sum_t);
  return {bandwidth, (sum_b - bandwidth * sum_t) / n};
}

class Train : public LevelPhase {
 public:
  using LevelPhase::LevelPhase;

  double weight() const override { return 2; }

 private:
  /// Checks that there is enough time. All ranks compute the same figures.
  void prepare(double seconds, int pass) override {
    const double needed = (least + 1) * (pause + messages * level().seconds(shortest));
    // The pauses do not get shorter with the budget: up to a third of it may be spent here.
    const double most = 8 * seconds;
    if (pass == 0 && needed > most) throw BudgetError("trains of messages over the network", needed / most);
  }

  void lead(double seconds, int pass) override {
    constexpr int most = 8;
    if (pass == 0) choose_bytes();
    const double end = seconds_now() + seconds;
    std::vector<double> bandwidths;
    std::vector<double> bursts;
    for (int i = 0; i < least || (i < most && seconds_now() < end); ++i) {
      sleep(pause);
      const std::vector<double> there = team().train(bytes_, messages, window);
      records().add({{"what", "train"}, {"level", level().name}, {"bytes", bytes_}, {"window", window}},
                    there);
      const Bucket bucket = fit_bucket(there, static_cast<double>(bytes_), 2 * level().latency);
      bandwidths.push_back(bucket.bandwidth);
      // A delay at the beginning is made up for as long as the bucket does not overflow meanwhile. So the
      // line through the end of a train counts, not the speed of its beginning.
      bursts.push_back(bucket.burst > 2 * static_cast<double>(bytes_) ? bucket.burst : 0);
      report_progress();
    }
    bandwidth_ = median(bandwidths);
    burst_ = median(bursts);
  }

  /// Makes a train last some milliseconds.
  void choose_bytes() {
    for (;;) {
      const double last = team().train(bytes_, messages, window).back();
      if (last > long_enough || bytes_ >= longest) return;
      bytes_ *= 4;
    }
  }

  std::vector<double> findings() const override { return {bandwidth_, burst_}; }
  void learn(const std::vector<double>& findings) override {
    level().bandwidth = findings[0];
    level().burst = findings[1];
  }

  std::size_t bytes_ = shortest;
  double bandwidth_ = 0;
  double burst_ = 0;
};

}  // namespace

std::unique_ptr<Phase> make_train(Site& site, std::size_t level, const Phase::OnProgress& on_progress) {
  return std::make_unique<Train>(site, level, on_progress);
}

}  // namespace stretto::bench
