// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/network_probe.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "engine/buffer_pool.hpp"
#include "engine/schedule_execution.hpp"
#include "interpose/operations/operation.hpp"
#include "interpose/operations/run_operation.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/clock.hpp"
#include "kernels/reduce.hpp"
#include "learn/probe.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

/// What the ranks agree on: the largest of their figures.
struct Figures {
  ProbeFigures steps{};
  ProbeReduction reduction;
  double failed = 0;  // 1 if a rank could not measure
};
static_assert(sizeof(Figures) == sizeof(double) * (probe_step_count + 3));

std::size_t longest_call() {
  std::size_t most = 0;
  for (const ProbeStep& step : probe_steps) most = std::max(most, step.call_bytes());
  return most;
}

/// The buffers of all calls.
class Buffers {
 public:
  Buffers() {
    try {
      input_ = PooledBuffer(longest_call());
      output_ = PooledBuffer(longest_call());
    } catch (const std::bad_alloc&) {
      return;
    }
    // Memory that was never touched would make the first calls slow.
    std::memset(input_.data(), 0, longest_call());
    std::memset(output_.data(), 0, longest_call());
  }
  [[nodiscard]] bool has_memory() const { return output_.data() != nullptr; }
  [[nodiscard]] std::byte* input() const { return input_.data(); }
  [[nodiscard]] std::byte* output() const { return output_.data(); }

 private:
  PooledBuffer input_;
  PooledBuffer output_;
};

/// Measures one step. Returns false if a call failed.
bool measure(const ProbeStep& step, Communicator& state, const Buffers& buffers, double& figure) {
  const std::shared_ptr<Channel>& channel = state.channel();
  Channel::Ticket ticket = channel->take(probe_messages);
  wait_until([&] { return channel->may_begin(ticket); });
  ScheduleExecution execution(channel_pool().comm(), state.peers(),
                              probe_schedule(step, state.topology(), state.rank()),
                              {.segments = step.messages, .segment_bytes = 0, .window = step.messages});
  const Call call = Call::whole(buffers.input(), buffers.output(), step.call_bytes(), byte_element());
  std::vector<double> seconds;
  bool is_right = true;
  for (int i = 0; i < step.calls; ++i) {
    const double began = seconds_now();
    execution.start(call, channel->tag(ticket));
    wait_until([&] { return execution.ended(); },
               [&] {
                 const bool any = execution.progress();
                 return make_progress() || any;
               });
    seconds.push_back(seconds_now() - began);
    is_right = is_right && execution.error() == MPI_SUCCESS;
  }
  channel->end(ticket);
  figure = probe_figure(step, std::move(seconds));
  return is_right;
}

/// Returns the seconds for each byte of a sum of floats.
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

bool agree(Figures& figures, MPI_Comm comm) {
  auto values = std::bit_cast<std::array<double, probe_step_count + 3>>(figures);
  if (mpi.Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                    comm) != MPI_SUCCESS) {
    return false;
  }
  figures = std::bit_cast<Figures>(values);
  return figures.failed == 0;
}

/// Returns the rate of each node's link if they differ, from what each rank has measured itself.
std::vector<double> compare_rates(const ProbeFigures& own, const Topology& topology, MPI_Comm comm) {
  const std::array<double, 2> mine{own.at(forward_stream()), own.at(backward_stream())};
  std::vector<double> all(2 * static_cast<std::size_t>(topology.ranks()));
  if (mpi.Allgather(mine.data(), 2, MPI_DOUBLE, all.data(), 2, MPI_DOUBLE, comm) != MPI_SUCCESS) return {};
  std::vector<double> forward;
  std::vector<double> backward;
  for (std::size_t i = 0; i < all.size(); i += 2) {
    forward.push_back(all[i]);
    backward.push_back(all[i + 1]);
  }
  return find_rates(forward, backward, topology);
}

}  // namespace

std::optional<MeasuredNetwork> probe_network(Communicator& state, const CallTraits& traits, const Spec& spec,
                                             MPI_Comm comm) {
  if (!wait_for_channel(state, state.channel(), traits, spec)) return std::nullopt;
  const AwaitedCall awaited(state, traits, spec);
  const Buffers buffers;
  Figures figures;
  ProbeFigures own{};  // of this rank
  const auto agree_now = [&] {
    const BlockedScope elsewhere;
    return agree(figures, comm);
  };
  // If a rank has no memory, none may send it anything: an error of a message could end the job.
  figures.failed = buffers.has_memory() ? 0 : 1;
  if (!agree_now()) return std::nullopt;
  const auto measure_all = [&](bool of_fast_links) {
    for (std::size_t i = 0; i < probe_step_count; ++i) {
      const ProbeStep& step = probe_steps.at(i);
      if (step.is_for_fast_links != of_fast_links || !is_measurable(step, state.topology())) continue;
      if (!measure(step, state, buffers, figures.steps.at(i))) figures.failed = 1;
    }
    own = figures.steps;
    return agree_now();
  };
  figures.reduction = {.short_seconds = reduction_seconds(buffers, 32 * kibibyte),
                       .long_seconds = reduction_seconds(buffers, mebibyte)};
  if (!measure_all(false)) return std::nullopt;
  const Topology& topology = state.topology();
  std::vector<double> rates;
  if (!has_fast_links(figures.steps, topology)) {
    if (topology.nodes > 2) rates = compare_rates(own, topology, comm);
  } else if (!measure_all(true)) {
    return std::nullopt;
  }
  return MeasuredNetwork{.machine = fit_probe(figures.steps, figures.reduction, topology),
                         .nodes = topology.nodes,
                         .ppn = topology.max_ppn,
                         .when = today(),
                         .rates = std::move(rates)};
}

}  // namespace stretto
