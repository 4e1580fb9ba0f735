// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/calibration/phases/phases.hpp"
#include "bench/library/program.hpp"
#include "bench/measure/calls.hpp"
#include "mpi/mpi.hpp"
#include "threads/clock.hpp"

namespace stretto::bench {
namespace {

constexpr std::size_t tiny = 8;
constexpr double sample_seconds = 200e-6;
constexpr int most_in_sample = 256;

/// Returns the farthest level, where messages take most time of a core.
const Level& find_level(const Site& site) {
  return site.levels.back();
}

/// Returns the pair of that level, or `ranks` ranks of a node if there is only one node.
std::vector<int> find_ranks(const Site& site, int ranks) {
  const Level& level = find_level(site);
  if (ranks == 2) return level.pair;
  if (level.name == "network") return {};
  const auto there = site.topology.on_node(site.topology.node(level.pair.front()));
  return {there.begin(), there.begin() + std::min<std::ptrdiff_t>(ranks, std::ssize(there))};
}

/// Measures the overhead of the engine. Segments add messages and rounds to a call at the same time. One
/// algorithm has as many rounds as a rank has ends of messages, another has half as many. So the two effects
/// can be separated.
class Engine : public TeamPhase {
 public:
  Engine(Site& site, int ranks, const OnProgress& on_progress)
      : TeamPhase(site, on_progress, find_ranks(site, ranks)) {
    const std::vector<std::string> algorithms =
        ranks == 2 ? std::vector<std::string>{"recursive_doubling", "ring"}
                   : std::vector<std::string>{"recursive_multiplying:radix=4", "pairwise"};
    for (const int segments : {1, 2, 4, 8, 16, 32}) {
      const std::string cut = ":segments=" + std::to_string(segments) + ":window=" + std::to_string(segments);
      // No block of a segment may be empty.
      for (const std::string& algorithm : algorithms) {
        cases_.push_back({Kind::engine, algorithm + cut, segments * ranks, segments});
      }
      if (ranks == 2) cases_.push_back({Kind::messages, {}, 0, segments});
    }
    if (ranks == 2) cases_.push_back({Kind::round_trip, {}, 0, 1});
    mpi.Comm_split(mpi.comm_world, team().takes_part() ? 0 : mpi.undefined, this->site().rank, &comm_);
    team().set_work([this](int which, int count) { call(static_cast<std::size_t>(which), count); });
  }

  ~Engine() override {
    if (comm_ != mpi.comm_null) free_communicator(comm_);
  }

  double weight() const override { return 2; }

 private:
  enum class Kind { engine, messages, round_trip };
  struct Case {
    Kind kind;
    std::string spec;
    int elements;
    int messages;  // in flight from each rank
    int count = 1;
  };

  void lead(double seconds, int pass) override {
    constexpr int least = 4;
    constexpr int most = 40;
    const double end = seconds_now() + seconds;
    for (std::size_t index = 0; pass == 0 && index < cases_.size(); ++index) {
      run(index);
      cases_[index].count = 8;
      const double wanted = sample_seconds / run(index);
      cases_[index].count = static_cast<int>(std::clamp(wanted, 1.0, most_in_sample * 1.0));
    }
    take_until(end, cases_.size(), least, most, [this](std::size_t index) {
      records().add(describe(cases_[index]), run(index));
      report_progress();
    });
  }

  double run(std::size_t index) {
    const Case& one = cases_[index];
    switch (one.kind) {
      case Kind::engine:
        return team().work(static_cast<int>(index), one.count);
      case Kind::messages:
        return team().exchanges(tiny, one.messages, {one.count});
      case Kind::round_trip:
        return team().round_trips(tiny, tiny, {one.count}) / 2;
    }
    return 0;
  }

  nlohmann::ordered_json describe(const Case& one) const {
    const std::string& level = find_level(site()).name;
    switch (one.kind) {
      case Kind::engine:
        return {{"what", "engine"},
                {"level", level},
                {"spec", one.spec},
                {"ranks", team().ranks().size()},
                {"bytes", static_cast<std::size_t>(one.elements) * sizeof(float)}};
      case Kind::messages:
        return {{"what", "messages"}, {"level", level}, {"bytes", tiny}, {"messages", one.messages}};
      case Kind::round_trip:
        return {{"what", "round-trip"}, {"level", level}, {"bytes", tiny}};
    }
    return {};
  }

  void call(std::size_t which, int count) {
    const Case& one = cases_[which];
    input_.resize(static_cast<std::size_t>(one.elements), 1.0F);
    output_.resize(input_.size());
    for (int i = 0; i < count; ++i) {
      const int code = stretto_allreduce(input_.data(), output_.data(), one.elements, mpi.float_, mpi.sum,
                                         comm_, one.spec.c_str());
      if (code != MPI_SUCCESS) fail(one.spec, code);
    }
  }

  std::vector<Case> cases_;
  MPI_Comm comm_ = mpi.comm_null;
  std::vector<float> input_;
  std::vector<float> output_;
};

}  // namespace

bool has_engine(const Site& site, int ranks) {
  return static_cast<unsigned>(ranks) <= std::max(2U, std::thread::hardware_concurrency()) &&
         find_ranks(site, ranks).size() == static_cast<std::size_t>(ranks);
}

std::unique_ptr<Phase> make_engine(Site& site, int ranks, const Phase::OnProgress& on_progress) {
  return std::make_unique<Engine>(site, ranks, on_progress);
}

}  // namespace stretto::bench
