// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <mpi.h>
#include <stretto/stretto.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>

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
constexpr std::size_t most_calls = 1024;  // in a sample
// Each pair has a persistent request; were they many, none would be in a cache, as a program's few are.
constexpr std::size_t most_requests = 64;

/// The largest value of any rank. All ranks get the same, so decisions taken from it are the same on all.
template <std::size_t count>
std::array<double, count> largest(std::array<double, count> values) {
  auto* const allreduce = LIBRARY(PMPI_Allreduce);
  allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(count), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return values;
}

std::string choice(Collective collective, Form form, std::size_t bytes) {
  std::array<char, 256> text{};
  std::string name(names_of(collective).algorithms);
  if (form == Form::non_blocking) name = "i" + name;
  if (form == Form::persistent) name += "_init";
  const int code =
      stretto_choice(name.c_str(), MPI_COMM_WORLD, bytes, text.data(), static_cast<int>(text.size()));
  if (code != MPI_SUCCESS) throw std::runtime_error(failure("auto", code));
  return text.data();
}

/// Seconds of this rank, from a start that all have in common.
template <typename Work>
double timed(const Work& work) {
  PMPI_Barrier(MPI_COMM_WORLD);
  const double begin = PMPI_Wtime();
  work();
  return PMPI_Wtime() - begin;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What a spec is warmed up for, beside its form and case.
std::string warm_key(const Options& options, const std::string& spec) {
  std::string key(names_of(options.collective).name);
  return key + " " + std::to_string(options.root) + " " + options.type + " " + spec;
}

/// Of a computation that all ranks do at once, with no call under way.
double measure_unit(Computation& computation) {
  constexpr std::size_t units = 100'000;  // longer than a slice of a core that ranks share
  std::vector<double> seconds(7);
  for (double& one : seconds) one = largest<1>({timed([&] { computation.run(units); })})[0];
  return median(seconds) / static_cast<double>(units);
}

}  // namespace

/// One spec in one form.
struct Measurement::Subject {
  explicit Subject(Call its_call) : call(std::move(its_call)) {}

  Call call;
  Result result;
  std::size_t units = 0;  // of the computation
};

/// What one case needs while it is measured.
class Measurement::Trial {
 public:
  Trial(Measurement& owner, const Case& one)
      : owner_(owner),
        role_{owner.options_.collective, one.count,   one.in_place,
              owner.options_.root,       owner.rank_, owner.ranks_},
        buffers_(one.bytes, role_.input_count() * owner.element_.size,
                 role_.output_count() * owner.element_.size,
                 owner.options_.has(Form::persistent) ? most_requests : most_calls) {}

  Call make_call(const std::string& spec, Form form) {
    const std::string name(LibraryAlgorithms::name_in(spec));
    const LibraryAlgorithm* const algorithm =
        name.empty() ? nullptr : owner_.job_.algorithms.find(role_.collective, form, name);
    return {role_, owner_.element_, spec, form, buffers_, algorithm};
  }

  /// A first call with a full check, then some to settle. Returns the seconds of a call.
  double warm_up(Subject& subject) {
    double call = measure(subject, 1, [this] { return holds_all(); });
    double spent = 0;
    for (std::size_t done = 0; done < owner_.options_.warmup && spent < warmup_seconds; ++done) {
      call = measure(subject, 1, unchecked);
      spent += call;
    }
    if (call >= sample_seconds) return call;
    // One short call says little about itself: ask for a row of them, as they will be measured.
    return measure(subject, std::min<std::size_t>(buffers_.pairs(), 16), unchecked);
  }

  /// Chooses the computation that takes as long as the call.
  void calibrate(Subject& subject) {
    const std::size_t inner = subject.result.inner;
    std::vector<double> calls;
    std::vector<double> computations;
    double spent = 0;
    for (int round = 0; round < 3 || (round < 9 && spent < warmup_seconds); ++round) {
      calls.push_back(measure(subject, inner, unchecked));
      if (round == 0) subject.units = owner_.units_in(calls[0]);
      computations.push_back(measure_computation(subject));
      spent += (calls.back() + computations.back()) * static_cast<double>(inner);
    }
    // What a unit takes changes, as ranks that share a core or others' work on it do.
    const double units = static_cast<double>(subject.units) * median(calls) / median(computations);
    subject.units = static_cast<std::size_t>(std::max(1.0, std::round(units)));
  }

  /// Takes one sample.
  void sample(Subject& subject) {
    const std::size_t inner = subject.result.inner;
    const auto holds = [&] { return holds_sampled(inner); };
    subject.result.seconds.push_back(measure(subject, inner, holds));
    if (!owner_.options_.overlap) return;
    subject.result.computation.push_back(measure_computation(subject));
    subject.result.overlapped.push_back(
        measure(subject, inner, holds, [&](std::size_t pair) { compute(subject, pair); }));
  }

  bool with_barrier() const { return role_.ranks_run_ahead(); }
  /// A call in place finds no input where another one has been.
  std::size_t most_calls_in_sample() const { return role_.in_place ? buffers_.pairs() : most_calls; }

 private:
  static bool unchecked() { return true; }
  static constexpr auto nothing = [](std::size_t /*pair*/) {};

  /// Makes as many calls as a sample has, with `between(pair)` between start and end of each. Returns the
  /// seconds of a call, the slowest rank's, and notes wrong results.
  ///
  /// Where a rank may end its call before others began theirs, as a broadcasting root does, a barrier after
  /// each call is part of the time, for every spec alike. Without it the calls of a row would overlap as in
  /// no program; and a call alone would seem to take no time to whoever leaves the first barrier last, since
  /// by then its message is there.
  template <typename Check, typename Between = decltype(nothing)>
  double measure(Subject& subject, std::size_t inner, const Check& holds, const Between& between = nothing) {
    const Forced forced(subject.call.algorithm());
    prepare(subject.call, inner);
    const bool barrier = with_barrier();
    const double local = timed([&] {
      for (std::size_t at = 0; at < inner; ++at) {
        const std::size_t its_pair = pair(at);
        subject.call.start(its_pair);
        between(its_pair);
        subject.call.wait(its_pair);
        if (barrier) PMPI_Barrier(MPI_COMM_WORLD);
      }
    });
    const auto [seconds, wrong] = largest<2>({local, holds() ? 0.0 : 1.0});
    subject.result.correct = subject.result.correct && wrong == 0.0;
    return seconds / static_cast<double>(inner);
  }

  double measure_computation(const Subject& subject) {
    const double local = timed([&] {
      for (std::size_t at = 0; at < subject.result.inner; ++at) owner_.computation_.run(subject.units);
    });
    return largest<1>({local})[0] / static_cast<double>(subject.result.inner);
  }

  /// As a program does that computes while its call is under way.
  void compute(Subject& subject, std::size_t pair) {
    const double every = owner_.options_.test_every;
    const std::size_t most = every > 0 ? owner_.units_in(every) : SIZE_MAX;
    bool ended = false;
    for (std::size_t left = subject.units; left > 0;) {
      const std::size_t now = std::min(left, most);
      owner_.computation_.run(now);
      left -= now;
      if (left > 0 && !ended) ended = subject.call.test(pair);
    }
  }

  /// New data for the next `inner` calls. There are as many pairs if they are in place; else calls take
  /// turns, as they find what they read unchanged.
  void prepare(Call& its_call, std::size_t inner) {
    ++owner_.generation_;
    first_ = next_;
    next_ = (next_ + inner) % buffers_.pairs();
    const Holdings before = holdings_before(role_, owner_.generation_);
    for (std::size_t call = 0; call < std::min(inner, buffers_.pairs()); ++call) {
      its_call.prepare(pair(call));
      buffers_.renew_guards(pair(call));
      fill(owner_.pattern_, before.input, input(call));
      fill(owner_.pattern_, before.output, output(call));
    }
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

Measurement::Measurement(const Options& options, const Element& element, int rank, int ranks, Job& job)
    : options_(options),
      job_(job),
      element_(element),
      pattern_(element, ranks),
      rank_(rank),
      ranks_(ranks),
      random_(options.seed) {
  if (options.overlap) unit_seconds_ = measure_unit(computation_);
}

std::size_t Measurement::units_in(double seconds) const {
  return static_cast<std::size_t>(std::max(1.0, std::round(seconds / unit_seconds_)));
}

std::vector<Result> Measurement::run(const Case& one, const Progress& progress) {
  Trial trial(*this, one);
  std::vector<Subject> subjects;
  double fastest = INFINITY;
  for (const std::string& spec : options_.specs) {
    for (const Form form : options_.forms) {
      Subject& subject = subjects.emplace_back(trial.make_call(spec, form));
      subject.result.spec = spec;
      subject.result.form = form;
      subject.result.with_barrier = trial.with_barrier();
      subject.result.chosen = spec == "auto" ? choice(options_.collective, form, one.bytes) : spec;
      const auto [known, is_new] =
          job_.warm.try_emplace({warm_key(options_, spec), form, one.count, one.in_place});
      if (is_new) known->second = trial.warm_up(subject);
      fastest = std::min(fastest, known->second);
    }
  }
  // All get the same number of calls: the common start then weighs the same in all their samples.
  const double wanted = std::ceil(sample_seconds / std::max(fastest, 1e-9));
  const auto inner =
      static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(trial.most_calls_in_sample())));
  for (Subject& subject : subjects) {
    subject.result.inner = inner;
    if (options_.overlap) trial.calibrate(subject);
  }

  std::vector<std::size_t> order(subjects.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const double begin = PMPI_Wtime();
  const std::size_t enough = options_.repetitions;
  for (std::size_t done = 0; done < most_repetitions;) {
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t index : order) trial.sample(subjects[index]);
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
  std::vector<Result> results(subjects.size());
  std::transform(subjects.begin(), subjects.end(), results.begin(),
                 [](Subject& subject) { return std::move(subject.result); });
  return results;
}

}  // namespace stretto::bench
