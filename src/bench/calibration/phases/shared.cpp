// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "bench/calibration/phases/phases.hpp"
#include "bench/library/program.hpp"
#include "bench/measure/calls.hpp"
#include "mpi/mpi.hpp"
#include "threads/clock.hpp"

namespace stretto::bench {
namespace {

constexpr std::size_t tiny = 8;  // an element for each rank
constexpr std::size_t shortest = std::size_t{4} << 10U;
constexpr std::size_t longest = std::size_t{16} << 20U;
constexpr double sample_seconds = 300e-6;
constexpr int most_in_sample = 256;
constexpr int least_rounds = 3;
constexpr int most_rounds = 30;

/// Returns the nearest two ranks of a node.
std::vector<int> find_pair(const Site& site) {
  return site.levels.front().name == "network" ? std::vector<int>{} : site.levels.front().pair;
}

/// Measures messages through shared memory. Three flows separate the times that a core needs to write, to
/// read and to reduce a message. In an exchange by recursive doubling, a rank writes its vector and reads the
/// other rank's. In a ring, it writes its vector, reduces one half straight from the other rank's memory and
/// reads the other half. Broadcasts with alternating roots take the longer one of the times to write and to
/// read.
class Shared : public TeamPhase {
 public:
  Shared(Site& site, const OnProgress& on_progress) : TeamPhase(site, on_progress, find_pair(site)) {
    for (const Flow flow : {Flow::exchange, Flow::ring, Flow::one_way}) {
      cases_.push_back({flow, tiny});
      for (std::size_t bytes = shortest; bytes <= longest; bytes *= 2) cases_.push_back({flow, bytes});
    }
    mpi.Comm_split(mpi.comm_world, team().takes_part() ? 0 : mpi.undefined, this->site().rank, &comm_);
    team().set_work([this](int which, int count) { call(cases_[static_cast<std::size_t>(which)], count); });
  }

  ~Shared() override {
    if (comm_ != mpi.comm_null) free_communicator(comm_);
  }

  double weight() const override { return 4; }

 private:
  enum class Flow { exchange, ring, one_way };
  struct Case {
    Flow flow;
    std::size_t bytes;
    int count = 2;
  };

  void prepare(double /*seconds*/, int /*pass*/) override {
    if (!team().takes_part()) return;
    input_.assign(longest / sizeof(float), 1.0F);
    output_.assign(input_.size(), 0.0F);
  }

  void lead(double seconds, int pass) override {
    const double end = seconds_now() + seconds;
    for (std::size_t index = 0; pass == 0 && index < cases_.size(); ++index) choose_count(index);
    take_until(end, cases_.size(), least_rounds, most_rounds, [this](std::size_t index) {
      records().add(describe(cases_[index]), run(index));
      report_progress();
    });
  }

  /// Chooses the number of calls in a sample. The first calls, which set up channels and map pages, do not
  /// count. The number is even, because roots alternate.
  void choose_count(std::size_t index) {
    run(index);
    const double pairs = sample_seconds / run(index) / 2;
    cases_[index].count = 2 * static_cast<int>(std::clamp(pairs, 1.0, most_in_sample / 2.0));
  }

  double run(std::size_t index) { return team().work(static_cast<int>(index), cases_[index].count); }

  nlohmann::ordered_json describe(const Case& one) const {
    constexpr std::array<const char*, 3> names{"exchange", "ring", "one-way"};
    return {{"what", "shared"},
            {"level", site().levels.front().name},
            {"flow", names.at(static_cast<std::size_t>(one.flow))},
            {"bytes", one.bytes}};
  }

  void call(const Case& one, int count) {
    const int elements = static_cast<int>(one.bytes / sizeof(float));
    const char* spec = one.flow == Flow::exchange ? "recursive_doubling" : "ring";
    for (int i = 0; i < count; ++i) {
      const int code =
          one.flow == Flow::one_way
              ? stretto_bcast(output_.data(), elements, mpi.float_, i % 2, comm_, "binomial")
              : stretto_allreduce(input_.data(), output_.data(), elements, mpi.float_, mpi.sum, comm_, spec);
      if (code != MPI_SUCCESS) fail(spec, code);
    }
  }

  std::vector<Case> cases_;
  MPI_Comm comm_ = mpi.comm_null;
  std::vector<float> input_;
  std::vector<float> output_;
};

}  // namespace

bool has_shared_memory(const Site& site) {
  const char* setting = std::getenv("STRETTO_SHM");
  return !find_pair(site).empty() && (setting == nullptr || std::string_view(setting) != "0");
}

std::unique_ptr<Phase> make_shared_memory(Site& site, const Phase::OnProgress& on_progress) {
  return std::make_unique<Shared>(site, on_progress);
}

}  // namespace stretto::bench
