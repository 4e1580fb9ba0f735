// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <mpi.h>
#include <stretto/stretto.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "buffers.hpp"
#include "calls.hpp"
#include "expectations.hpp"
#include "library.hpp"

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
  LIBRARY(PMPI_Allreduce)(MPI_IN_PLACE, values.data(), static_cast<int>(count), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return values;
}

std::string choice(Collective collective, std::size_t bytes) {
  std::array<char, 256> text{};
  const std::string name(names_of(collective).algorithms);
  const int code =
      stretto_choice(name.c_str(), MPI_COMM_WORLD, bytes, text.data(), static_cast<int>(text.size()));
  if (code != MPI_SUCCESS) fail("auto", code);
  return text.data();
}

}  // namespace

/// What one case needs while it is measured.
class Measurement::Trial {
 public:
  Trial(Measurement& owner, const Case& one)
      : owner_(owner),
        role_{owner.options_.collective, one.count,   one.in_place,
              owner.options_.root,       owner.rank_, owner.ranks_},
        buffers_(one.bytes, role_.input_count() * owner.element_.size,
                 role_.output_count() * owner.element_.size) {}

  /// A first call with a full check, then some to settle. Returns the seconds of a call.
  double warm_up(Result& result) {
    double call = measure(result, 1, [this] { return holds_all(); });
    double spent = 0;
    for (std::size_t done = 0; done < owner_.options_.warmup && spent < warmup_seconds; ++done) {
      call = measure(result, 1, unchecked);
      spent += call;
    }
    if (call >= sample_seconds) return call;
    // One short call says little about itself: ask for a row of them, as they will be measured.
    return measure(result, std::min<std::size_t>(buffers_.pairs(), 16), unchecked);
  }

  /// Takes one sample of a spec.
  void sample(Result& result) {
    result.seconds.push_back(
        measure(result, result.inner, [this, inner = result.inner] { return holds_sampled(inner); }));
  }

  bool with_barrier() const { return role_.ranks_run_ahead(); }
  std::size_t most_inner() const { return buffers_.pairs(); }

 private:
  static bool unchecked() { return true; }

  /// Makes `inner` calls. Returns the seconds of a call, the slowest rank's, and notes wrong results.
  template <typename Check>
  double measure(Result& result, std::size_t inner, Check holds) {
    prepare(inner);
    const double local = timed(result.spec, inner);
    const auto [seconds, wrong] = largest<2>({local, holds() ? 0.0 : 1.0});
    result.correct = result.correct && wrong == 0.0;
    return seconds / static_cast<double>(inner);
  }

  /// New data for the next `inner` calls. Each has a pair of its own, so that calls in place find input too.
  void prepare(std::size_t inner) {
    ++owner_.generation_;
    first_ = next_;
    next_ = (next_ + inner) % buffers_.pairs();
    const Holdings before = holdings_before(role_, owner_.generation_);
    for (std::size_t call = 0; call < inner; ++call) {
      buffers_.renew_guards(pair(call));
      fill(owner_.pattern_, before.input, input(call));
      fill(owner_.pattern_, before.output, output(call));
    }
  }

  /// Seconds of `inner` calls on this rank, from a common start.
  ///
  /// Where a rank may end its call before others began theirs, as a broadcasting root does, a barrier after
  /// each call is part of the time, for every spec alike. Without it the calls of a row would overlap as in
  /// no program; and a call alone would seem to take no time to whoever leaves the first barrier last, since
  /// by then its message is there.
  double timed(const std::string& spec, std::size_t inner) {
    const Call call(role_, owner_.element_, spec);
    const bool with_barrier = role_.ranks_run_ahead();
    PMPI_Barrier(MPI_COMM_WORLD);
    const double begin = PMPI_Wtime();
    for (std::size_t at = 0; at < inner; ++at) {
      const int code = call(input(at), output(at));
      if (code != MPI_SUCCESS) fail(spec, code);
      if (with_barrier) PMPI_Barrier(MPI_COMM_WORLD);
    }
    return PMPI_Wtime() - begin;
  }

  bool holds_all() {
    const Holdings after = holdings_after(role_, owner_.generation_);
    return hold(owner_.pattern_, after.input, input(0)) && hold(owner_.pattern_, after.output, output(0)) &&
           buffers_.guards_intact(pair(0));
  }

  bool holds_sampled(std::size_t inner) {
    const std::size_t call = owner_.generation_ % inner;
    const Holdings after = holdings_after(role_, owner_.generation_);
    return hold_sampled(owner_.pattern_, after.output, output(call), role_.output_count(),
                        owner_.generation_) &&
           buffers_.guards_intact(pair(call));
  }

  std::size_t pair(std::size_t call) const { return (first_ + call) % buffers_.pairs(); }
  std::byte* input(std::size_t call) { return buffers_.input(pair(call)); }
  std::byte* output(std::size_t call) { return buffers_.output(pair(call)); }

  Measurement& owner_;
  Role role_;
  Buffers buffers_;
  std::size_t first_ = 0;
  std::size_t next_ = 0;
};

Measurement::Measurement(const Options& options, const Element& element, int rank, int ranks)
    : options_(options),
      element_(element),
      pattern_(element, ranks),
      rank_(rank),
      ranks_(ranks),
      random_(options.seed) {}

std::vector<Result> Measurement::run(const Case& one, const Progress& progress) {
  Trial trial(*this, one);
  std::vector<Result> results;
  double fastest = INFINITY;
  for (const std::string& spec : options_.specs) {
    Result& result = results.emplace_back();
    result.spec = spec;
    result.with_barrier = trial.with_barrier();
    result.chosen = spec == "auto" ? choice(options_.collective, one.bytes) : spec;
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
