// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/calibration/common/waiting.hpp"
#include "bench/calibration/phases/phases.hpp"
#include "kernels/reduce.hpp"
#include "mpi/mpi.hpp"
#include "threads/clock.hpp"

namespace stretto::bench {
namespace {

constexpr std::size_t shortest = std::size_t{4} << 10U;
constexpr std::size_t longest = std::size_t{128} << 20U;
constexpr std::size_t usual = std::size_t{16} << 20U;
constexpr double sample_seconds = 1e-3;
constexpr double slice_seconds = 20e-3;  // where ranks share cores, each gets several
constexpr int least_rounds = 3;
constexpr int most_rounds = 30;

std::size_t system_value(int name) {
  const long value = sysconf(name);
  return value > 0 ? static_cast<std::size_t>(value) : 0;
}

class Reduction : public Phase {
 public:
  using Phase::Phase;

  double weight() const override { return 2; }

  void measure(double seconds, int pass) override {
    if (pass == 0) list_cases(seconds);
    left_.assign(longest_ / sizeof(float), 1.0F);
    right_.assign(longest_ / sizeof(float), 1.0F);
    into_.assign(longest_ / sizeof(float), 0.0F);
    meet({0.0}, on_progress());
    if (pass == 0) {
      for (Case& one : cases_) choose_count(one);
    }
    take_in_rounds(cases_, seconds, least_rounds, most_rounds, [this](const Case& one) {
      const double taken = sample(one);
      records().add({{"what", "reduction"}, {"bytes", one.bytes}, {"ranks", site().topology.max_ppn}}, taken);
    });
    left_ = {};
    right_ = {};
    into_ = {};
    records().publish(0, site().rank, pass);
  }

 private:
  struct Case {
    std::size_t bytes;
    int count;
  };

  /// Lists sizes up to vectors that no cache holds, if all ranks of a node have the memory and the time for
  /// that. The sizes are the same on all ranks.
  void list_cases(double seconds) {
    const std::size_t memory = system_value(_SC_PAGESIZE) * system_value(_SC_PHYS_PAGES);
    const auto ranks = static_cast<std::size_t>(site().topology.max_ppn);
    const double room = static_cast<double>(memory) / 32 / static_cast<double>(3 * ranks);
    const std::size_t cached = system_value(_SC_LEVEL3_CACHE_SIZE);
    const std::size_t wanted = std::clamp(std::bit_ceil(cached / 2), usual, longest);
    constexpr double slow = 1e9;  // bytes a second, to bound the time
    const double in_time = seconds * slow / 2 / (least_rounds + 1) / 2;
    // meet() takes no values below 0, so the smallest is found as the largest of the inverses.
    const double limit = std::min({room, in_time, static_cast<double>(wanted)});
    const double all = 1 / meet({1 / std::max(limit, 1.0)})[0];
    longest_ = std::max(shortest, std::bit_floor(static_cast<std::size_t>(all)));
    cases_.clear();
    for (std::size_t bytes = shortest; bytes <= longest_; bytes *= 2) cases_.push_back({bytes, 1});
  }

  void choose_count(Case& one) {
    // Nodes may be emulated on this machine.
    const bool take_turns =
        static_cast<unsigned>(site().topology.ranks()) > std::max(1U, std::thread::hardware_concurrency());
    const double wanted = take_turns ? slice_seconds : sample_seconds;
    while (sample(one) * one.count < wanted && one.count < (1 << 20)) one.count *= 4;
  }

  /// Returns the seconds of one reduction on the slowest rank.
  double sample(const Case& one) {
    static const kernels::Function sum = kernels::find(kernels::Type::f32, kernels::Op::sum);
    line_up(mpi.comm_world);
    const double begin = seconds_now();
    for (int i = 0; i < one.count; ++i) {
      sum(into_.data(), left_.data(), right_.data(), one.bytes / sizeof(float));
    }
    return meet({seconds_now() - begin})[0] / one.count;
  }

  std::size_t longest_ = 0;
  std::vector<Case> cases_;
  std::vector<float> left_;
  std::vector<float> right_;
  std::vector<float> into_;
};

}  // namespace

std::unique_ptr<Phase> make_reduction(Site& site, const Phase::OnProgress& on_progress) {
  return std::make_unique<Reduction>(site, on_progress);
}

}  // namespace stretto::bench
