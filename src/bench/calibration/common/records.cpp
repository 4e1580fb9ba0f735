// SPDX-License-Identifier: Apache-2.0
#include "bench/calibration/common/records.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/output/report.hpp"
#include "mpi/status.hpp"

namespace stretto::bench {
namespace {

constexpr int records_tag = 5;

}  // namespace

void Records::add(const nlohmann::ordered_json& about, double seconds) {
  add(about, std::vector<double>{seconds});
}

void Records::add(const nlohmann::ordered_json& about, const std::vector<double>& seconds) {
  const std::string key = about.dump();
  auto found = std::find_if(cases_.begin(), cases_.end(), [&](const auto& one) { return one.first == key; });
  if (found == cases_.end()) found = cases_.insert(cases_.end(), {key, {}});
  found->second.insert(found->second.end(), seconds.begin(), seconds.end());
}

void Records::publish(int owner, int rank, int pass) {
  std::string lines;
  for (const auto& [about, seconds] : cases_) {
    nlohmann::ordered_json event{{"event", "points"}};
    event.update(nlohmann::ordered_json::parse(about));
    event["pass"] = pass;
    event["seconds"] = seconds;
    lines += event.dump() + "\n";
  }
  cases_.clear();
  if (owner != 0 && rank == owner) {
    mpi.Send(lines.data(), static_cast<int>(lines.size()), mpi.char_, 0, records_tag, mpi.comm_world);
  }
  if (rank != 0) return;
  if (owner != 0) {
    OwnStatus status;
    int length = 0;
    mpi.Probe(owner, records_tag, mpi.comm_world, status);
    mpi.Get_count(status, mpi.char_, &length);
    lines.resize(static_cast<std::size_t>(length));
    mpi.Recv(lines.data(), length, mpi.char_, owner, records_tag, mpi.comm_world, mpi.status_ignore);
  }
  report_lines(lines);
}

}  // namespace stretto::bench
