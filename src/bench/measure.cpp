// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <mpi.h>
#include <stretto/stretto.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "buffers.hpp"

namespace stretto::bench {
namespace {

constexpr double sample_seconds = 200e-6;     // a sample is at least about this long
constexpr double warmup_seconds = 0.5;        // a spec's warm-up stops after this, whatever its calls
constexpr std::size_t least_repetitions = 5;  // also when the time is up
constexpr std::size_t most_repetitions = 10000;

[[noreturn]] void fail(const std::string& spec, int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  PMPI_Error_string(code, text.data(), &length);
  throw std::runtime_error("spec " + spec + ": " +
                           std::string(text.data(), static_cast<std::size_t>(length)));
}

/// The largest value of any rank. All ranks get the same, so decisions taken from it are the same on all.
template <std::size_t count>
std::array<double, count> largest(std::array<double, count> values) {
  PMPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(count), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return values;
}

std::string choice(const Case& one) {
  std::array<char, 256> text{};
  const int code =
      stretto_choice("allreduce", MPI_COMM_WORLD, one.bytes, text.data(), static_cast<int>(text.size()));
  if (code != MPI_SUCCESS) fail("auto", code);
  return text.data();
}

}  // namespace

std::vector<Case> list_cases(const Options& options, const Element& element) {
  std::vector<Case> cases;
  for (const std::size_t size : options.sizes) {
    const std::size_t count = std::max<std::size_t>(1, size / element.size);
    if (count > INT_MAX) {
      throw std::invalid_argument("--sizes " + std::to_string(size) + ": expected at most " +
                                  std::to_string(INT_MAX) + " elements");
    }
    for (const bool in_place : options.in_place) {
      const bool known = std::any_of(cases.begin(), cases.end(), [&](const Case& other) {
        return other.count == count && other.in_place == in_place;
      });
      if (!known) cases.push_back({count, count * element.size, in_place});
    }
  }
  return cases;
}

/// What one case needs while it is measured.
class Measurement::Trial {
 public:
  Trial(Measurement& owner, const Case& one) : owner_(owner), case_(one), buffers_(one.bytes) {}

  /// A first call with a full check, then some to settle. Returns the seconds of a call.
  double warm_up(Result& result) {
    prepare(1);
    const double first = timed(result.spec, 1);
    const auto [seconds, wrong] = largest<2>({first, holds_all() ? 0.0 : 1.0});
    result.correct = wrong == 0.0;
    double call = seconds;
    double spent = 0;
    for (std::size_t done = 0; done < owner_.options_.warmup && spent < warmup_seconds; ++done) {
      prepare(1);
      call = largest<1>({timed(result.spec, 1)})[0];
      spent += call;
    }
    if (call >= sample_seconds) return call;
    // One short call says little about itself: ask for a row of them, as they will be measured.
    const std::size_t row = std::min<std::size_t>(buffers_.pairs(), 16);
    prepare(row);
    return largest<1>({timed(result.spec, row)})[0] / static_cast<double>(row);
  }

  /// Takes one sample of a spec.
  void sample(Result& result) {
    prepare(result.inner);
    const double local = timed(result.spec, result.inner) / static_cast<double>(result.inner);
    const auto [seconds, wrong] = largest<2>({local, holds_sampled(result.inner) ? 0.0 : 1.0});
    result.seconds.push_back(seconds);
    result.correct = result.correct && wrong == 0.0;
  }

  std::size_t most_inner() const { return buffers_.pairs(); }

 private:
  /// New data for the next `inner` calls. Each has a pair of its own, so that calls in place find input too.
  void prepare(std::size_t inner) {
    ++owner_.generation_;
    first_ = next_;
    next_ = (next_ + inner) % buffers_.pairs();
    for (std::size_t call = 0; call < inner; ++call) {
      owner_.pattern_.fill(case_.in_place ? output(call) : input(call), case_.count, owner_.generation_);
    }
  }

  /// Seconds of `inner` calls on this rank, from a common start.
  double timed(const std::string& spec, std::size_t inner) {
    const char* text = spec == "native" || spec == "auto" ? nullptr : spec.c_str();
    // What a program would call, without the work of reading a spec: the library's own, and the one in front
    // of it.
    const auto plain = spec == "native" ? &PMPI_Allreduce : &MPI_Allreduce;
    const auto allreduce = [&](const void* from, void* to, int elements) {
      return text == nullptr ? plain(from, to, elements, owner_.element_.datatype, MPI_SUM, MPI_COMM_WORLD)
                             : stretto_allreduce(from, to, elements, owner_.element_.datatype, MPI_SUM,
                                                 MPI_COMM_WORLD, text);
    };
    const int count = static_cast<int>(case_.count);
    PMPI_Barrier(MPI_COMM_WORLD);
    const double begin = PMPI_Wtime();
    for (std::size_t call = 0; call < inner; ++call) {
      const void* from = case_.in_place ? MPI_IN_PLACE : input(call);
      const int code = allreduce(from, output(call), count);
      if (code != MPI_SUCCESS) fail(spec, code);
    }
    return PMPI_Wtime() - begin;
  }

  bool holds_all() {
    const Pattern& pattern = owner_.pattern_;
    return pattern.holds_sum(output(0), case_.count, owner_.generation_) &&
           (case_.in_place || pattern.holds_input(input(0), case_.count, owner_.generation_)) &&
           buffers_.guards_intact(pair(0));
  }

  bool holds_sampled(std::size_t inner) {
    const std::size_t call = owner_.generation_ % inner;
    return owner_.pattern_.holds_sum_sampled(output(call), case_.count, owner_.generation_) &&
           buffers_.guards_intact(pair(call));
  }

  std::size_t pair(std::size_t call) const { return (first_ + call) % buffers_.pairs(); }
  std::byte* input(std::size_t call) { return buffers_.input(pair(call)); }
  std::byte* output(std::size_t call) { return buffers_.output(pair(call)); }

  Measurement& owner_;
  Case case_;
  Buffers buffers_;
  std::size_t first_ = 0;
  std::size_t next_ = 0;
};

Measurement::Measurement(const Options& options, const Element& element, int rank, int ranks)
    : options_(options),
      element_(element),
      pattern_(element, rank, ranks),
      rank_(rank),
      random_(options.seed) {}

std::vector<Result> Measurement::run(const Case& one, const Progress& progress) {
  Trial trial(*this, one);
  std::vector<Result> results;
  double fastest = INFINITY;
  for (const std::string& spec : options_.specs) {
    Result& result = results.emplace_back();
    result.spec = spec;
    result.chosen = spec == "auto" ? choice(one) : spec;
    fastest = std::min(fastest, trial.warm_up(result));
  }
  // All specs get the same number of calls: the common start then weighs the same in all their samples.
  const double wanted = std::ceil(sample_seconds / std::max(fastest, 1e-9));
  const auto inner =
      static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(trial.most_inner())));
  for (Result& result : results) result.inner = inner;

  std::vector<std::size_t> order(results.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const double begin = PMPI_Wtime();
  const std::size_t enough = options_.repetitions;
  for (std::size_t done = 0; done < most_repetitions;) {
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t index : order) trial.sample(results[index]);
    ++done;
    const double elapsed = largest<1>({PMPI_Wtime() - begin})[0];
    if (rank_ == 0) {
      const double by_count = static_cast<double>(done) / static_cast<double>(enough);
      const double by_time = elapsed / std::max(options_.min_seconds, 1e-9);
      progress(std::min(
          1.0, std::max(std::min(by_count, by_time), elapsed / std::max(options_.max_seconds, 1e-9))));
    }
    if (done >= enough && elapsed >= options_.min_seconds) break;
    if (done >= std::min(enough, least_repetitions) && elapsed >= options_.max_seconds) break;
  }
  return results;
}

}  // namespace stretto::bench
