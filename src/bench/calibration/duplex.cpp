// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "phases.hpp"

namespace stretto::bench {
namespace {

constexpr int count = 4;  // in a row
constexpr double long_enough = 20e-3;
constexpr std::size_t longest = std::size_t{4} << 20U;
constexpr std::size_t shortest = std::size_t{64} << 10U;

class Duplex : public TeamPhase {
 public:
  Duplex(Site& site, std::size_t level, const Look& look)
      : TeamPhase(site, look, site.levels[level].pair), level_(level) {}

  double weight() const override { return 2; }

 private:
  void lead(double seconds, int pass) override {
    constexpr int least = 4;
    constexpr int most = 50;
    const Level& level = site().levels[level_];
    const double end = PMPI_Wtime() + seconds;
    if (pass == 0) {
      for (bytes_ = longest; bytes_ > shortest && level.seconds(bytes_) > long_enough;) bytes_ /= 2;
      // What a link had saved up must not be most of it.
      while (static_cast<double>(count * bytes_) < 4 * level.burst) bytes_ *= 2;
      run(true);
      run(false);
    }
    const nlohmann::ordered_json rest{{"level", level.name}, {"bytes", bytes_}, {"count", count}};
    for (int i = 0; i < least || (i < most && PMPI_Wtime() < end); ++i) {
      // Each begins with what an idle link has saved up, so that both have the same of it.
      for (const bool both_ways : {i % 2 == 0, i % 2 != 0}) {
        nlohmann::ordered_json about{{"what", both_ways ? "exchange" : "one-way"}};
        about.update(rest);
        sleep(level.pause());
        records().add(about, run(both_ways));
        look();
      }
    }
  }

  double run(bool both_ways) {
    return both_ways ? team().exchanges(bytes_, 1, count) : team().round_trips(bytes_, 1, count);
  }

  std::size_t level_;
  std::size_t bytes_ = longest;
};

}  // namespace

std::unique_ptr<Phase> make_duplex(Site& site, std::size_t level, const Phase::Look& look) {
  return std::make_unique<Duplex>(site, level, look);
}

}  // namespace stretto::bench
