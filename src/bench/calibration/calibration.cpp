// SPDX-License-Identifier: Apache-2.0
#include "bench/calibration/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "bench/calibration/common/load.hpp"
#include "bench/calibration/common/waiting.hpp"
#include "bench/calibration/phases/phases.hpp"
#include "threads/clock.hpp"

namespace stretto::bench {
namespace {

constexpr int passes = 2;

/// Reports the progress by the time that has passed.
class Progress {
 public:
  explicit Progress(double total) : total_(total) {}

  void begin(double seconds) {
    done_ += seconds_;
    seconds_ = seconds;
    begin_ = seconds_now();
  }
  /// Reports at most twice a second: forwarding the line costs the launcher some time of a core.
  void report() {
    const double now = seconds_now();
    if (now - last_ < 0.5) return;
    last_ = now;
    report_progress(std::min(total_, done_ + std::min(seconds_, now - begin_)), total_);
  }

 private:
  double total_;
  double done_ = 0;
  double seconds_ = 0;
  double begin_ = 0;
  double last_ = 0;
};

/// Returns the phases. Each comes after those whose findings it needs.
std::vector<std::unique_ptr<Phase>> list_phases(Site& site, const Phase::OnProgress& on_progress) {
  std::vector<std::unique_ptr<Phase>> phases;
  for (std::size_t level = 0; level < site.levels.size(); ++level) {
    if (site.levels[level].name == "network") phases.push_back(make_train(site, level, on_progress));
    phases.push_back(make_ping_pong(site, level, on_progress));
    phases.push_back(make_duplex(site, level, on_progress));
  }
  for (const Limit limit : {Limit::node, Limit::memory, Limit::fabric}) {
    if (has_flows(site, limit)) phases.push_back(make_flows(site, limit, on_progress));
  }
  phases.push_back(make_reduction(site, on_progress));
  if (has_shared_memory(site)) phases.push_back(make_shared_memory(site, on_progress));
  for (const int ranks : {2, 4}) {
    if (has_engine(site, ranks)) phases.push_back(make_engine(site, ranks, on_progress));
  }
  return phases;
}

std::string write_seconds(double seconds) {
  std::ostringstream text;
  text << std::ceil(seconds) << " s";
  return text.str();
}

}  // namespace

void calibrate(const Options& options, const Placement& placement) {
  Site site = find_site();
  if (site.levels.empty()) {
    throw std::invalid_argument("a calibration measures messages between ranks; expected 2 ranks or more");
  }
  const bool speaks = placement.rank == 0;
  if (speaks) report_calibration(options, placement);
  const double begin = seconds_now();
  LoadWatch load(site);
  load.sample();
  for (std::size_t level = 0; level < site.levels.size(); ++level) {
    make_probe(site, level, {})->measure(0, 0);
  }

  const double total = options.calibrate_seconds - meet({seconds_now() - begin})[0];
  Progress progress(total);
  const Phase::OnProgress on_progress =
      speaks ? Phase::OnProgress([&] { progress.report(); }) : Phase::OnProgress();
  const std::vector<std::unique_ptr<Phase>> phases = list_phases(site, on_progress);
  double weights = 0;
  for (const auto& phase : phases) weights += phase->weight();
  // Each phase takes some samples in any case. In less than a second or two there is no time for more.
  constexpr double least = 2;
  if (total < least) {
    throw std::invalid_argument(write_seconds(options.calibrate_seconds) +
                                " is too short to measure anything; give a longer --budget");
  }
  for (int pass = 0; pass < passes; ++pass) {
    if (pass > 0) load.sample();
    for (const auto& phase : phases) {
      const double seconds = total * phase->weight() / weights / passes;
      progress.begin(seconds);
      try {
        phase->measure(seconds, pass);
      } catch (const BudgetError& error) {
        throw std::invalid_argument(
            std::string("--budget is too short to measure ") + error.what() + ": they need " +
            write_seconds(error.needed() * options.calibrate_seconds) + " or more here");
      }
    }
  }
  load.sample();
}

}  // namespace stretto::bench
