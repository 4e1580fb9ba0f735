// SPDX-License-Identifier: Apache-2.0
#include "bench/calibration/common/load.hpp"

#include <unistd.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <type_traits>

#include "bench/calibration/common/phase.hpp"
#include "bench/calibration/common/waiting.hpp"
#include "bench/output/report.hpp"
#include "mpi/mpi.hpp"

namespace stretto::bench {
namespace {

constexpr double watched_seconds = 0.25;

struct NodeLoad {
  std::array<char, 64> host{};
  double cores = 0;
  double busy = 0;
  double stolen = 0;
  double load = 0;
};
static_assert(std::is_trivially_copyable_v<NodeLoad>);

double read_load_average() {
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

}  // namespace

LoadWatch::LoadWatch(const Site& site) : site_(site), before_(read()) {}

/// Returns the ticks of all cores of the node together since it was booted.
LoadWatch::Ticks LoadWatch::read() {
  // user, nice, system, idle, iowait, irq, softirq, steal (proc(5))
  std::array<double, 8> ticks{};
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  for (double& one : ticks) file >> one;
  Ticks result;
  result.all = std::accumulate(ticks.begin(), ticks.end(), 0.0);
  result.stolen = ticks[7];
  result.busy = result.all - ticks[3] - ticks[4] - ticks[7];
  return result;
}

void LoadWatch::sample() {
  meet({0.0});
  // Sleeps long enough that ranks which still poll for others are asleep, too.
  sleep(watched_seconds / 5);
  const Ticks begin = read();
  sleep(watched_seconds);
  const Ticks end = read();

  NodeLoad own;
  const auto cores = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  gethostname(own.host.data(), own.host.size() - 1);
  own.cores = cores;
  if (end.all > begin.all) own.busy = cores * (end.busy - begin.busy) / (end.all - begin.all);
  if (end.all > before_.all) own.stolen = (end.stolen - before_.stolen) / (end.all - before_.all);
  own.load = read_load_average();
  before_ = end;

  const auto ranks = static_cast<std::size_t>(site_.topology.ranks());
  std::vector<NodeLoad> all(site_.rank == 0 ? ranks : 0);
  meet({0.0});
  mpi.Gather(&own, sizeof own, mpi.byte, all.data(), sizeof own, mpi.byte, 0, mpi.comm_world);
  if (site_.rank != 0) return;
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (int node = 0; node < site_.topology.nodes; ++node) {
    const NodeLoad& one = all[static_cast<std::size_t>(site_.topology.rank_at(node, 0))];
    nodes.push_back({{"host", one.host.data()},
                     {"cores", one.cores},
                     {"busy", one.busy},
                     {"stolen", one.stolen},
                     {"load", one.load}});
  }
  report_lines(nlohmann::ordered_json{{"event", "load"}, {"nodes", nodes}}.dump() + "\n");
}

}  // namespace stretto::bench
