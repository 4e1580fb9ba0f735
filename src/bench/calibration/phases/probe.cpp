// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bench/calibration/phases/phases.hpp"
#include "bench/measure/median.hpp"

namespace stretto::bench {
namespace {

class Probe : public LevelPhase {
 public:
  using LevelPhase::LevelPhase;

  double weight() const override { return 0; }

 private:
  void lead(double /*seconds*/, int /*pass*/) override {
    constexpr double long_enough = 5e-3;
    constexpr std::size_t most = std::size_t{16} << 20U;
    team().round_trips(8, 8, {100});
    std::vector<double> latencies(9);
    for (double& one : latencies) one = team().round_trips(8, 8, {20}) / 2;
    latency_ = median(latencies);
    for (std::size_t bytes = std::size_t{64} << 10U; bytes <= most; bytes *= 4) {
      team().round_trips(bytes, bytes, {1});
      const double seconds = team().round_trips(bytes, bytes, {1}) / 2;
      bandwidth_ = static_cast<double>(bytes) / std::max(seconds - latency_, 1e-9);
      if (seconds > long_enough) break;
      report_progress();
    }
  }

  std::vector<double> findings() const override { return {latency_, bandwidth_}; }
  void learn(const std::vector<double>& findings) override {
    level().latency = findings[0];
    level().bandwidth = findings[1];
  }

  double latency_ = 0;
  double bandwidth_ = 0;
};

}  // namespace

std::unique_ptr<Phase> make_probe(Site& site, std::size_t level, const Phase::OnProgress& on_progress) {
  return std::make_unique<Probe>(site, level, on_progress);
}

}  // namespace stretto::bench
