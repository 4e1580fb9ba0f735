// SPDX-License-Identifier: Apache-2.0
#include "interpose/statistics.hpp"

#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/immortal.hpp"
#include "interpose/session.hpp"
#include "text/file_writer.hpp"

namespace stretto {
namespace {

struct Count {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
};

/// Collective, smallest size of the class (a power of two, or 0), spec.
using Key = std::tuple<Collective, std::size_t, std::string>;

// That the file cannot be written.
bool was_told = false;

std::mutex mutex;
std::map<Key, Count>& counts() {
  static auto& all = make_immortal<std::map<Key, Count>>();
  return all;
}

}  // namespace

void record_call(Collective collective, std::size_t bytes, const Spec& spec, double seconds) {
  const std::lock_guard lock(mutex);
  Count& count = counts()[{collective, std::bit_floor(bytes), to_string(spec)}];
  ++count.calls;
  count.bytes += bytes;
  count.seconds += seconds;
}

std::string statistics_text() {
  int ranks = 1;
  mpi.Comm_size(mpi.comm_world, &ranks);
  nlohmann::ordered_json report;
  report["stretto"] = STRETTO_VERSION;
  report["library"] = session.library;
  if (session.table) report["table"] = session.table_path;
  report["ranks"] = ranks;
  report["nodes"] = session.topology.nodes;
  report["measured_on_rank"] = session.world_rank;
  auto& calls = report["calls"] = nlohmann::ordered_json::array();
  {
    const std::lock_guard lock(mutex);
    for (const auto& [key, count] : counts()) {
      const auto& [collective, smallest, spec] = key;
      calls.push_back({{"collective", name_of(collective)},
                       {"bytes_from", smallest},
                       {"bytes_below", smallest == 0 ? 1 : 2 * smallest},
                       {"spec", spec},
                       {"calls", count.calls},
                       {"bytes", count.bytes},
                       {"seconds", count.seconds}});
    }
  }
  return report.dump(2) + '\n';
}

std::string write_statistics(const std::string& file) {
  const std::string error = replace_file(file, statistics_text());
  return error.empty() || was_told ? "" : "STRETTO_STATS=" + file + ": cannot be written: " + error;
}

void check_statistics_file(Settings& settings) {
  if (settings.statistics_file.empty()) return;
  const std::string error = find_obstacle(settings.statistics_file);
  if (error.empty()) return;
  was_told = true;
  settings.complaints.push_back({"STRETTO_STATS=" + settings.statistics_file, "cannot be written: " + error,
                                 "nothing is written unless that changes"});
}

}  // namespace stretto
