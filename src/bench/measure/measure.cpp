// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "algorithms/collective.hpp"
#include "bench/cases/native_name.hpp"
#include "bench/library/program.hpp"
#include "bench/measure/calls.hpp"
#include "bench/measure/median.hpp"
#include "bench/measure/stage.hpp"
#include "mpi/mpi.hpp"
#include "threads/clock.hpp"

namespace stretto::bench {
namespace {

// The least duration of a sample, that is, of a row of calls as programs make them. The bytes that an idle
// link has saved up (a token bucket, as in clouds) affect only the first calls.
constexpr double sample_seconds = 20e-3;
constexpr double warmup_seconds = 0.5;  // a spec's warm-up stops after this, whatever its calls
constexpr std::size_t most_repetitions = 10000;
constexpr std::size_t most_calls = 1024;  // in a sample
// Each pair has a persistent request. If there were many, none would be in a cache, unlike the few of a
// program.
constexpr std::size_t most_requests = 64;
constexpr std::size_t buffer_budget = std::size_t{64} << 20U;  // bytes of all buffers, unless pairs need more

/// Returns the largest values of all ranks. All ranks get the same values, so they take the same decisions.
template <std::size_t count>
std::array<double, count> largest(std::array<double, count> values) {
  auto* const allreduce = mpi.Allreduce;
  allreduce(mpi.in_place, values.data(), static_cast<int>(count), mpi.double_, mpi.max, mpi.comm_world);
  return values;
}

std::string choice(Collective collective, Form form, std::size_t bytes) {
  std::array<char, 256> text{};
  std::string name(name_of(collective_of(collective)));
  // The size does not count where ranks do not know it.
  if (has_private_lengths(collective_of(collective))) bytes = 0;
  if (form == Form::non_blocking) name = "i" + name;
  if (form == Form::persistent) name += "_init";
  const int code =
      stretto_choice(name.c_str(), mpi.comm_world, bytes, text.data(), static_cast<int>(text.size()));
  if (code != MPI_SUCCESS) fail("auto", code);
  return text.data();
}

/// Returns the seconds of this rank's work since a start that all ranks share.
template <typename Work>
double timed(const Work& work) {
  mpi.Barrier(mpi.comm_world);
  const double begin = seconds_now();
  work();
  return seconds_now() - begin;
}

/// Returns the part that is done of what needs both so many repetitions and so many seconds; at most 1.
double part_done(std::size_t done, std::size_t repetitions, double elapsed, double seconds) {
  const double by_count = static_cast<double>(done) / static_cast<double>(repetitions);
  return std::min({1.0, by_count, elapsed / std::max(seconds, 1e-9)});
}

/// Returns the name of what is warmed up, besides its form and case.
std::string warm_key(const Options& options, const Result& result) {
  const std::string collective(name_of(options.collective));
  return collective + " " + std::to_string(options.root) + " " + std::to_string(options.skew.value_or(-1)) +
         " " + options.type + " " + result.spec + " " + result.mockup;
}

/// Returns the seconds of a computation that all ranks do at once, with no call in flight.
double measure_unit(Computation& computation) {
  constexpr std::size_t units = 100'000;  // take longer than a slice of a core that ranks share
  std::vector<double> seconds(7);
  for (double& one : seconds) one = largest<1>({timed([&] { computation.run(units); })})[0];
  return median(seconds) / static_cast<double>(units);
}

}  // namespace

/// One call and the stage that it works on.
struct Measurement::Step {
  Stage* stage;
  Call call;
};

/// The collective, or a mock-up, by one spec in one form.
struct Measurement::Subject {
  std::vector<Step> steps;  // of a mock-up one for each part
  Result result;
  std::size_t units = 0;  // of the computation
};

/// The state of one case while it is measured.
class Measurement::Trial {
 public:
  Trial(Measurement& owner, const Case& one) : owner_(owner), case_(one) {
    std::size_t most_stages = 1;
    for (const Mockup& mockup : owner.options_.mockups) most_stages += mockup.parts.size();
    budget_ = buffer_budget / most_stages;
  }

  /// Makes the subject for a mock-up; for the collective itself if there are no parts.
  Subject make_subject(const std::string& spec, Form form, const Mockup& mockup) {
    std::vector<Mockup::Part> parts = mockup.parts;
    if (parts.empty()) parts.push_back({owner_.options_.collective});
    Subject subject;
    subject.result.spec = spec;
    subject.result.mockup = mockup.text;
    subject.result.form = form;
    for (std::size_t index = 0; index < parts.size(); ++index) {
      const Mockup::Part& part = parts[index];
      // Two equal parts of one mock-up have their own buffers. Otherwise the second would hide the result of
      // the first.
      const auto earlier =
          std::count(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(index), part);
      Stage& its_stage = stage(part, static_cast<std::size_t>(earlier));
      // stretto_choice() supports only equal blocks.
      const bool is_known = spec == "auto" && !its_stage.role().is_skewed();
      std::string chosen = is_known ? choice(part.collective, form, case_.bytes / part.divisor) : spec;
      const LibraryAlgorithm* const algorithm = find_algorithm(part.collective, form, spec, chosen);
      subject.steps.push_back(
          {&its_stage, {its_stage.role(), owner_.element_, spec, form, its_stage.buffers(), algorithm}});
      subject.result.chosen += (index == 0 ? "" : "+") + chosen;
    }
    return subject;
  }

  /// Makes a first call with a full check, then some to settle. Returns the seconds of a call.
  double warm_up(Subject& subject) {
    double call = measure(subject, 1, [](Stage& stage) { return stage.holds_all(); });
    double spent = call;
    for (std::size_t done = 0; done < owner_.options_.warmup && spent < warmup_seconds; ++done) {
      call = measure(subject, 1, unchecked);
      spent += call;
    }
    const double row = std::min({16.0, static_cast<double>(least_pairs()), sample_seconds / call});
    if (row < 2) return call;
    // One short call is not representative: times a row of calls, as they will be measured.
    return measure(subject, static_cast<std::size_t>(row), unchecked);
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
    // The time of a unit changes with the other ranks and programs on its core.
    const double units = static_cast<double>(subject.units) * median(calls) / median(computations);
    subject.units = static_cast<std::size_t>(std::max(1.0, std::round(units)));
  }

  /// Takes one sample.
  void sample(Subject& subject) {
    const std::size_t inner = subject.result.inner;
    const auto holds = [inner](Stage& stage) { return stage.holds_sampled(inner); };
    subject.result.seconds.push_back(measure(subject, inner, holds));
    if (!owner_.options_.overlap) return;
    subject.result.computation.push_back(measure_computation(subject));
    subject.result.overlapped.push_back(
        measure(subject, inner, holds, [&](std::size_t pair) { compute(subject, pair); }));
  }

  /// Whether a barrier follows each call. To be called once all subjects are made.
  bool with_barrier() const {
    return std::any_of(stages_.begin(), stages_.end(),
                       [](const StageInPart& place) { return place.stage.role().ranks_run_ahead(); });
  }
  /// Returns the most calls in a sample. A call in place would find no input where another call has written.
  std::size_t most_calls_in_sample() const { return case_.in_place ? least_pairs() : most_calls; }

 private:
  /// A stage and its index: it is the `number`-th one of a part.
  struct StageInPart {
    Mockup::Part part;
    std::size_t number;
    Stage stage;
  };

  /// Returns nullptr if the MPI default or another spec was chosen. A choice of `auto` that cannot be forced
  /// on the MPI library becomes `native`, as in a program.
  const LibraryAlgorithm* find_algorithm(Collective collective, Form form, const std::string& spec,
                                         std::string& chosen) const {
    const std::string name(library_algorithm_in(chosen));
    if (name.empty()) return nullptr;
    try {
      return owner_.job_.algorithms.find(collective, form, name);
    } catch (const std::invalid_argument&) {
      if (spec != "auto") throw;
      chosen = "native";
      return nullptr;
    }
  }

  static bool unchecked(const Stage& /*stage*/) { return true; }
  static constexpr auto nothing = [](std::size_t /*pair*/) {};

  /// Returns a stage, which all specs share.
  Stage& stage(const Mockup::Part& part, std::size_t number) {
    for (StageInPart& place : stages_) {
      if (place.part == part && place.number == number) return place.stage;
    }
    const Role role{
        part.collective, case_.count / part.divisor, case_.in_place, owner_.options_.root, owner_.rank_,
        owner_.ranks_,   owner_.options_.skew};
    const std::size_t most_pairs = owner_.options_.has(Form::persistent) ? most_requests : most_calls;
    return stages_
        .emplace_back(
            StageInPart{part, number, Stage(role, owner_.element_, owner_.pattern_, most_pairs, budget_)})
        .stage;
  }

  std::size_t least_pairs() const {
    std::size_t least = SIZE_MAX;
    for (const StageInPart& place : stages_) least = std::min(least, place.stage.pairs());
    return least;
  }

  /// Makes the calls of a sample, with `between(pair)` between start and end of each. Returns the seconds of
  /// a call on the slowest rank, and notes wrong results.
  ///
  /// If a rank may end its call before others have begun theirs, as a broadcasting root does, a barrier after
  /// each call is part of the time, for every spec alike. Without the barrier, the calls of a row would
  /// overlap as in no program. And a single call would seem to take no time on the rank that leaves the first
  /// barrier last, since its message has arrived by then.
  template <typename Check, typename Between = decltype(nothing)>
  double measure(Subject& subject, std::size_t inner, const Check& holds, const Between& between = nothing) {
    std::deque<Forced> forced;
    for (const Step& step : subject.steps) forced.emplace_back(step.call.algorithm());
    ++owner_.generation_;
    for (Step& step : subject.steps) step.stage->prepare(step.call, inner, owner_.generation_);
    const bool barrier = with_barrier();
    const double local = timed([&] {
      for (std::size_t at = 0; at < inner; ++at) {
        for (Step& step : subject.steps) {
          const std::size_t its_pair = step.stage->pair(at);
          step.call.start(its_pair);
          between(its_pair);
          step.call.wait(its_pair);
        }
        if (barrier) mpi.Barrier(mpi.comm_world);
      }
    });
    const bool right = std::all_of(subject.steps.begin(), subject.steps.end(),
                                   [&](Step& step) { return holds(*step.stage); });
    const auto [seconds, wrong] = largest<2>({local, right ? 0.0 : 1.0});
    if (wrong != 0.0) ++subject.result.wrong;
    return seconds / static_cast<double>(inner);
  }

  double measure_computation(const Subject& subject) {
    const double local = timed([&] {
      for (std::size_t at = 0; at < subject.result.inner; ++at) owner_.computation_.run(subject.units);
    });
    return largest<1>({local})[0] / static_cast<double>(subject.result.inner);
  }

  /// Computes as a program does while its call is in flight.
  void compute(Subject& subject, std::size_t pair) {
    const double every = owner_.options_.test_every;
    const std::size_t most = every > 0 ? owner_.units_in(every) : SIZE_MAX;
    bool ended = false;
    for (std::size_t left = subject.units; left > 0;) {
      const std::size_t now = std::min(left, most);
      owner_.computation_.run(now);
      left -= now;
      if (left > 0 && !ended) ended = subject.steps.front().call.test(pair);
    }
  }

  Measurement& owner_;
  Case case_;
  std::size_t budget_ = 0;          // bytes of a stage's buffers
  std::deque<StageInPart> stages_;  // calls refer to them
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

std::vector<Result> Measurement::run(const Case& one, double most_seconds, const Progress& progress) {
  Trial trial(*this, one);
  std::vector<Mockup> mockups = {Mockup{}};
  mockups.insert(mockups.end(), options_.mockups.begin(), options_.mockups.end());
  std::vector<Subject> subjects;
  for (const std::string& spec : options_.specs) {
    for (const Form form : options_.forms) {
      for (const Mockup& mockup : mockups) subjects.push_back(trial.make_subject(spec, form, mockup));
    }
  }
  double fastest = INFINITY;
  for (Subject& subject : subjects) {
    subject.result.with_barrier = trial.with_barrier();
    if (options_.cold > 0) continue;
    const auto [known, is_new] = job_.warm.try_emplace(
        {warm_key(options_, subject.result), subject.result.form, one.count, one.in_place});
    if (is_new) known->second = trial.warm_up(subject);
    fastest = std::min(fastest, known->second);
  }
  // All subjects get the same number of calls, so that the common start has the same weight in all samples.
  const double wanted = options_.cold > 0 ? static_cast<double>(options_.cold)
                                          : std::ceil(sample_seconds / std::max(fastest, 1e-9));
  const auto inner =
      static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(trial.most_calls_in_sample())));
  for (Subject& subject : subjects) {
    subject.result.inner = inner;
    if (options_.overlap) trial.calibrate(subject);
  }

  std::vector<std::size_t> order(subjects.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const double begin = seconds_now();
  const std::size_t enough = options_.repetitions;
  const std::size_t least = std::min(enough, Measurement::least_repetitions);
  for (std::size_t done = 0; done < most_repetitions;) {
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t index : order) trial.sample(subjects[index]);
    ++done;
    const double elapsed = largest<1>({seconds_now() - begin})[0];
    if (rank_ == 0) {
      progress(std::max(part_done(done, enough, elapsed, options_.min_seconds),
                        part_done(done, least, elapsed, most_seconds)));
    }
    if (done >= enough && elapsed >= options_.min_seconds) break;
    if (done >= least && elapsed >= most_seconds) break;
  }
  std::vector<Result> results(subjects.size());
  std::transform(subjects.begin(), subjects.end(), results.begin(),
                 [](Subject& subject) { return std::move(subject.result); });
  return results;
}

}  // namespace stretto::bench
