// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/network_probe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/data/buffer_pool.hpp"
#include "engine/execution/schedule_execution.hpp"
#include "engine/messages/connections.hpp"
#include "interpose/communicators/connect_nodes.hpp"
#include "interpose/operations/operation.hpp"
#include "interpose/operations/run_operation.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "kernels/reduce.hpp"
#include "learn/network/probe.hpp"
#include "sockets/endpoint.hpp"
#include "text/size.hpp"
#include "threads/clock.hpp"
#include "threads/core_time.hpp"
#include "topology/boot_id.hpp"
#include "topology/cpu_domains.hpp"

namespace stretto {
namespace {

constexpr double failed_call = 1e9;  // s

/// The figures on which the ranks agree. Each is the largest of all ranks.
struct Figures {
  ProbeFigures steps{};
  ProbeReduction reduction;
  double busy = 0;  // the part of the time in which a rank waited for its core
  double late = 0;  // seconds of a round (Lateness)
  /// The seconds of the fastest agreement before, negative. The rank that comes last to an agreement measures
  /// its real time, so the minimum counts.
  double agreement = -failed_call;
  double failed = 0;  // 1 if a rank could not measure

  static constexpr std::size_t count = probe_step_count + 6;
};
static_assert(sizeof(Figures) == sizeof(double) * Figures::count);

/// Whether messages between nodes have gone by Stretto's own connections since the job began. (Ranks may
/// learn at different times of connections that are made later.)
bool are_connected() {
  return !mpi.has_library() || (session.settings.connections_from && connections() != nullptr);
}

std::size_t longest_call(const Communicator& state) {
  std::size_t most = 2 * probe_steps.at(long_stream()).call_bytes();
  if (state.topology().nodes > 1 && (are_connected() || may_connect(state)))
    most = std::max(most, 2 * stream_of_streams.call_bytes());
  for (const ProbeStep& step : probe_steps) most = std::max(most, step.call_bytes());
  return most;
}

/// The buffers of all calls.
class Buffers {
 public:
  explicit Buffers(std::size_t bytes) {
    try {
      input_ = PooledBuffer(bytes);
      output_ = PooledBuffer(bytes);
    } catch (const std::bad_alloc&) {
      return;
    }
    // Memory that was never touched would make the first calls slow.
    std::memset(input_.data(), 0, bytes);
    std::memset(output_.data(), 0, bytes);
  }
  [[nodiscard]] bool has_memory() const { return output_.data() != nullptr; }
  [[nodiscard]] std::byte* input() const { return input_.data(); }
  [[nodiscard]] std::byte* output() const { return output_.data(); }

 private:
  PooledBuffer input_;
  PooledBuffer output_;
};

/// Measures steps on one communicator.
class Measurement {
 public:
  /// Connections carry messages of at least `connections_from` bytes.
  Measurement(Communicator& state, const Buffers& buffers, std::size_t connections_from)
      : state_(state), buffers_(buffers), connections_from_(connections_from) {
    wait_until([&] { return channel_->may_begin(ticket_); });
  }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;
  ~Measurement() { channel_->end(ticket_); }

  /// Measures a step. Returns this rank's figure.
  double measure(const ProbeStep& step) {
    ScheduleExecution execution = make(step, probe_schedule(step, state_.topology(), state_.rank()));
    std::vector<double> seconds;
    for (int i = 0; i < step.calls; ++i) {
      const double began = seconds_now();
      CallResources resources = channel_->resources(ticket_);
      resources.connections_from = connections_from_;
      start(execution, step, resources);
      finish({&execution, 1});
      seconds.push_back(seconds_now() - began);
    }
    lateness_.add(step, seconds);
    return probe_figure(step, std::move(seconds));
  }
  [[nodiscard]] double late() const { return lateness_.of_round(); }

  /// Measures a stream that is sent twice in a row. Returns the seconds from the arrival of the first copy to
  /// that of the second one. Sets `received_both` to the seconds until both have arrived.
  double measure_second(const ProbeStep& step, double& received_both) {
    // Sends and receives are separate executions, so a neighbour that receives slowly does not count.
    const auto half = [&](Half which) {
      return make(step, probe_schedule(step, state_.topology(), state_.rank(), which));
    };
    std::array<ScheduleExecution, 4> all{half(Half::receives), half(Half::receives), half(Half::sends),
                                         half(Half::sends)};
    const double began = seconds_now();
    // The messages go by MPI: the executions share their tags, so messages on one lane could not be told
    // apart.
    const CallResources resources{.first_tag = channel_->resources(ticket_).first_tag,
                                  .connections_from = connections_from_};
    for (std::size_t i = 0; i < all.size(); ++i) {
      start(all.at(i), step, resources, i % 2 * step.call_bytes());
    }
    const std::span<ScheduleExecution> both(all);
    finish(both.first(1));
    const double first = seconds_now();
    finish(both.subspan(1, 1));
    const double second = seconds_now();
    finish(both);
    received_both = second - began;
    return second - first;
  }

  [[nodiscard]] bool is_right() const { return is_right_; }

 private:
  ScheduleExecution make(const ProbeStep& step, Schedule schedule) const {
    return {make_transport(channel_pool().comm()),
            state_.peers(),
            std::move(schedule),
            {.segments = step.messages,
             .segment_bytes = 0,
             .window = std::min(step.messages, static_cast<int>(probe_messages))},
            Keep::nothing,
            state_.neighbours()};
  }
  void start(ScheduleExecution& execution, const ProbeStep& step, const CallResources& resources,
             std::size_t offset = 0) {
    const Element element = step.flow == Flow::reduced ? *find_element(mpi.float_, mpi.sum) : byte_element();
    const Call call = Call::whole(buffers_.input() + offset, buffers_.output() + offset,
                                  step.call_bytes() / static_cast<std::size_t>(element.size), element);
    execution.start(call, resources);
    started_.push_back(&execution);
  }
  /// Waits for the `awaited` executions, and advances all that were started.
  void finish(std::span<ScheduleExecution> awaited) {
    // If a rank has ended, some ranks may be here and others not.
    const auto has_failed = [&] { return state_.why_ended(state_.sequence(), false) != MPI_SUCCESS; };
    wait_until([&] { return has_failed() || std::ranges::all_of(awaited, &ScheduleExecution::ended); },
               [&] {
                 bool any = false;
                 for (ScheduleExecution* one : started_) any = one->progress() || any;
                 return make_progress() || any;
               });
    for (const ScheduleExecution& one : awaited) is_right_ = is_right_ && one.error() == MPI_SUCCESS;
    std::erase_if(started_, [](const ScheduleExecution* one) { return one->ended(); });
  }

  Communicator& state_;
  const Buffers& buffers_;
  std::size_t connections_from_;
  std::shared_ptr<Channel> channel_ = state_.channel();
  Channel::Ticket ticket_ = channel_->take(probe_messages);
  std::vector<ScheduleExecution*> started_;
  Lateness lateness_;
  bool is_right_ = true;
};

/// Returns the seconds per byte of a sum of floats.
double reduction_seconds(const Buffers& buffers, std::size_t bytes) {
  const kernels::Function add = kernels::find(kernels::Type::f32, kernels::Op::sum);
  if (add == nullptr) return 0;
  double least = 1;
  for (int i = 0; i < 4; ++i) {
    const double began = seconds_now();
    add(buffers.output(), buffers.output(), buffers.input(), bytes / sizeof(float));
    least = std::min(least, seconds_now() - began);
  }
  return least / static_cast<double>(bytes);
}

/// `own_agreement` becomes the `agreement` of the next call.
bool agree(Figures& figures, double& own_agreement, MPI_Comm comm) {
  figures.agreement = own_agreement;
  auto values = std::bit_cast<std::array<double, Figures::count>>(figures);
  const double began = seconds_now();
  if (mpi.Allreduce(mpi.in_place, values.data(), static_cast<int>(values.size()), mpi.double_, mpi.max,
                    comm) != MPI_SUCCESS) {
    return false;
  }
  figures = std::bit_cast<Figures>(values);
  own_agreement = std::max(own_agreement, began - seconds_now());
  return figures.failed == 0;
}

/// Returns the seconds that `measure` returns on the slowest rank, or `failed_call` if a rank could not
/// measure. All ranks get the same result.
double slowest(Communicator& state, const Buffers& buffers, std::size_t connections_from, MPI_Comm comm,
               const auto& measure) {
  double seconds = 0;
  {
    Measurement measurement(state, buffers, connections_from);
    seconds = measure(measurement);
    if (!measurement.is_right()) seconds = failed_call;
  }
  const BlockedScope blocked;
  const int error = mpi.Allreduce(mpi.in_place, &seconds, 1, mpi.double_, mpi.max, comm);
  return error == MPI_SUCCESS ? seconds : failed_call;
}

/// Returns the median of some turns of each of two ways. (The best turn would depend on luck: caches make the
/// same call twice as fast in some turns.) A way that fails in one turn has failed.
std::array<double, 2> median_in_turns(const auto& measure_one, const auto& measure_other) {
  constexpr std::size_t turns = 3;
  constexpr double long_turn = 0.03;
  std::array<std::vector<double>, 2> seconds;
  while (seconds[1].size() < turns) {
    seconds[0].push_back(measure_one());
    seconds[1].push_back(measure_other());
    if (seconds[0].front() > long_turn) break;
  }
  const auto median = [](std::vector<double>& all) {
    std::ranges::sort(all);
    return all.back() >= failed_call ? failed_call : all[all.size() / 2];
  };
  return {median(seconds[0]), median(seconds[1])};
}

/// Measures how many connections to a rank are useful, and makes ranks use that many. Returns the number.
int find_streams(Communicator& state, const Buffers& buffers, MPI_Comm comm) {
  constexpr int several = 4;
  constexpr int most = 8;
  const auto by = [&](int streams) {
    Endpoint::use_streams(streams);
    return slowest(state, buffers, 0, comm, [](Measurement& measurement) {
      double both = 0;
      measurement.measure_second(stream_of_streams, both);
      return both;
    });
  };
  by(several);  // makes the connections
  const auto [by_one, by_several] = median_in_turns([&] { return by(1); }, [&] { return by(several); });
  int streams = streams_worth(by_one, several, by_several);
  if (streams > 1) {
    by(most);
    streams = streams_worth(by_several, most, by(most)) > 1 ? most : several;
  }
  Endpoint::use_streams(streams);
  return streams;
}

/// Makes connections between the nodes. Returns the length from which on they are faster than the MPI
/// library, by measurement, or 0 if they are not. Sets `streams` to the number of connections to a rank that
/// are useful.
std::size_t find_connections(Communicator& state, const Buffers& short_buffers, const ProbeFigures& figures,
                             MPI_Comm comm, int& streams) {
  {
    const BlockedScope blocked;
    if (!connect_nodes(comm)) return 0;
  }
  const auto steps = streams_by_connections(figures, state.topology().max_ppn);
  const Buffers buffers(steps.back().call_bytes());
  {
    const BlockedScope blocked;
    int has_memory = buffers.has_memory() ? 1 : 0;
    const int error = mpi.Allreduce(mpi.in_place, &has_memory, 1, mpi.int_, mpi.min, comm);
    if (error != MPI_SUCCESS || has_memory == 0) return 0;
  }
  if (!session.settings.streams) streams = find_streams(state, short_buffers, comm);
  std::array<double, 2> by_library{};
  std::array<double, 2> by_connections{};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto by = [&](std::size_t from) {
      return slowest(state, buffers, from, comm,
                     [&](Measurement& measurement) { return measurement.measure(steps.at(i)); });
    };
    const auto median =
        median_in_turns([&] { return by(CallResources::no_connections); }, [&] { return by(0); });
    by_library.at(i) = median[0];
    by_connections.at(i) = median[1];
  }
  return connections_worth(by_library, by_connections);
}

/// In larger jobs, ranks are assumed to have cores of their own.
constexpr int most_ranks_on_shared_cores = 512;

Host own_host() {
  Host host{.kernel = kernel_number(), .processors = {}};
  for (const int cpu : allowed_cpus()) {
    const auto i = static_cast<std::size_t>(cpu);
    if (i < host.processors.size()) host.processors.set(i);
  }
  return host;
}

SharedCores compare_hosts(const Topology& topology, MPI_Comm comm) {
  if (topology.ranks() > most_ranks_on_shared_cores) return {};
  static_assert(std::is_trivially_copyable_v<Host>);
  const Host own = own_host();
  std::vector<Host> all(static_cast<std::size_t>(topology.ranks()));
  if (mpi.Allgather(&own, sizeof own, mpi.byte, all.data(), sizeof own, mpi.byte, comm) != MPI_SUCCESS) {
    return {};
  }
  return find_shared_cores(all, topology);
}

/// Returns the rate of each node's link if they differ, from each rank's own measurement.
std::vector<double> compare_rates(double own, const Topology& topology, MPI_Comm comm) {
  std::vector<double> all(static_cast<std::size_t>(topology.ranks()));
  if (mpi.Allgather(&own, 1, mpi.double_, all.data(), 1, mpi.double_, comm) != MPI_SUCCESS) return {};
  return find_rates(all, topology);
}

}  // namespace

std::optional<MeasuredNetwork> probe_network(Communicator& state, const CallTraits& traits, const Spec& spec,
                                             MPI_Comm comm) {
  if (!wait_for_channel(state, state.channel(), traits, spec)) return std::nullopt;
  const AwaitedCall awaited(state, traits, spec);
  const Buffers buffers(longest_call(state));
  Figures figures;
  const CoreTime began = CoreTime::of_this_thread();
  LongStreams streams_of_rank;
  double own_agreement = figures.agreement;
  const auto agree_now = [&] {
    const BlockedScope blocked;
    return agree(figures, own_agreement, comm);
  };
  // If a rank has no memory, no rank may send it anything: an error of a message could end the job.
  figures.failed = buffers.has_memory() ? 0 : 1;
  if (!agree_now()) return std::nullopt;
  std::size_t connections_from = state.connections_from();
  const auto measure_long_stream = [&](Measurement& measurement) {
    double received = 0;
    const double second = measurement.measure_second(probe_steps.at(long_stream()), received);
    streams_of_rank.add(second, received);
    figures.steps.at(long_stream()) = streams_of_rank.figure();
  };
  const auto measure_all = [&](bool of_fast_links) {
    Measurement measurement(state, buffers, connections_from);
    for (std::size_t i = 0; i < probe_step_count; ++i) {
      const ProbeStep& step = probe_steps.at(i);
      if (step.is_for_fast_links != of_fast_links || !is_measurable(step, state.topology())) continue;
      if (i == long_stream()) {
        measure_long_stream(measurement);
      } else {
        figures.steps.at(i) = measurement.measure(step);
      }
    }
    if (!measurement.is_right()) figures.failed = 1;
    figures.busy = std::max(figures.busy, CoreTime::of_this_thread().waited_since(began));
    figures.late = std::max(figures.late, measurement.late());
    return agree_now();
  };
  figures.reduction = {.short_seconds = reduction_seconds(buffers, 32 * kibibyte),
                       .long_seconds = reduction_seconds(buffers, mebibyte)};
  if (!measure_all(false)) return std::nullopt;
  if (const int more = more_long_streams(figures.steps, figures.busy, state.topology()); more > 0) {
    {
      Measurement measurement(state, buffers, connections_from);
      for (int i = 0; i < more; ++i) measure_long_stream(measurement);
      if (!measurement.is_right()) figures.failed = 1;
    }
    if (!agree_now()) return std::nullopt;
  }
  const Topology& topology = state.topology();
  std::vector<double> rates;
  int streams = 1;
  std::size_t found_from = 0;
  if (!has_fast_links(figures.steps, topology)) {
    if (topology.nodes > 2) rates = compare_rates(streams_of_rank.received(), topology, comm);
  } else {
    if (may_connect(state) && !is_faster_than_tcp(figures.steps)) {
      found_from = find_connections(state, buffers, figures.steps, comm, streams);
      connections_from = found_from > 0 ? found_from : CallResources::no_connections;
    } else if (are_connected() && !session.settings.streams) {
      streams = find_streams(state, buffers, comm);
    }
    if (!measure_all(true)) return std::nullopt;
  }
  const SharedCores shared = compare_hosts(topology, comm);
  // Elsewhere a message is late for other reasons, which segments do not repeat.
  const double late = figures.busy >= busy_from ? figures.late : 0;
  return MeasuredNetwork{
      .machine = fit_probe(figures.steps, figures.reduction, topology, shared, rates, late),
      .nodes = topology.nodes,
      .ppn = topology.max_ppn,
      .when = today(),
      .busy = figures.busy,
      .library_seconds = mpi.has_library() ? -figures.agreement : 0,
      .connections_from = found_from,
      .streams = streams};
}

}  // namespace stretto
