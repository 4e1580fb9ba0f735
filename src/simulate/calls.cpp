// SPDX-License-Identifier: Apache-2.0
#include "simulate/calls.hpp"

#include <dlfcn.h>

#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench/cases/arguments.hpp"
#include "engine/execution/relayed_execution.hpp"
#include "simulate/virtual_time.hpp"

namespace stretto::simulate {
namespace {

using bench::Role;

/// Lets the time of the rounds pass.
class Rounds final : public Observer {
 public:
  explicit Rounds(double seconds) : seconds_(seconds) {}
  void segment_begins(std::size_t /*flight*/, std::size_t /*segment*/) override {}
  void round_ends(std::size_t /*flight*/, int /*round*/) override { compute(seconds_); }
  void segment_ends(std::size_t /*flight*/) override {}

 private:
  double seconds_;
};

/// Returns the collective whose algorithms perform this one.
Collective algorithms_for(const Role& role) {
  return collective_of(role.collective);
}

/// Whether a block's length is known on this rank.
bool is_known(const Role& role, int rank) {
  const Collective collective = algorithms_for(role);
  return !has_private_lengths(collective) || is_alltoall(collective) || role.is_root() || rank == role.rank;
}

std::vector<std::size_t> borders_of(const Role& role, bool of_output) {
  std::vector<std::size_t> borders;
  const Collective collective = algorithms_for(role);
  if (!has_block_of_each_rank(collective) || (of_output && !has_private_lengths(collective))) return borders;
  borders.push_back(0);
  for (int rank = 0; rank < role.ranks; ++rank) {
    std::size_t count = is_known(role, rank) ? role.block_count(rank) : 0;
    if (is_alltoall(collective)) {
      count = of_output ? role.part_count(rank, role.rank) : role.part_count(role.rank, rank);
    }
    borders.push_back(borders.back() + count);
  }
  return borders;
}

/// Returns a call with the one block of a barrier.
stretto::Call barrier_call() {
  static const std::byte block{};
  stretto::Call call = stretto::Call::whole(
      &block, nullptr, 1,
      {.datatype = mpi.byte, .op = mpi.bor, .size = 1, .extent = 1, .true_extent = 1, .kernel = nullptr});
  call.output_holds = {};
  return call;
}

stretto::Call call_of(const Operands& operands, const std::vector<std::size_t>& borders) {
  const Role& role = operands.role;
  const Collective collective = algorithms_for(role);
  if (collective == Collective::barrier) return barrier_call();
  const auto range_of = [&](Held held) {
    const auto rank = static_cast<std::size_t>(role.rank);
    if (held == Held::own) return Range{borders[rank], borders[rank + 1] - borders[rank]};
    return Range{0, held == Held::all ? role.count : 0};
  };
  const auto [input, output] = held_blocks(collective, role.rank, role.root);
  stretto::Call call{.input = operands.input,
                     .output = operands.output,
                     .element = operands.element,
                     // The same on all ranks, although some do not know how many elements there are.
                     .count = has_private_lengths(collective) ? 0 : role.count,
                     .input_holds = range_of(input),
                     .output_holds = range_of(output),
                     .root = role.root};
  if (is_alltoall(collective)) {
    if (role.in_place) call.input = operands.copy;
    return call;
  }
  call.in_place = role.calls_in_place() || collective == Collective::bcast;
  if (!call.in_place) return call;
  call.output = is_scatter(collective) ? operands.input : operands.output;
  call.input = call.output;
  call.input_holds = {0, role.count};
  if (!is_reduction(collective)) call.output_holds = call.input_holds;
  return call;
}

Schedule schedule_of(const Operands& operands, const Spec& spec, const Topology& topology) {
  return build(spec.recipe, topology, operands.role.root, operands.role.rank);
}

/// A run of the caller's blocks is contiguous only in a message that is not cut
/// (interpose/operations/operation.cpp).
Pipelining pipelining_of(const Spec& spec) {
  return spec.recipe.algorithm->stays_whole() ? Pipelining{} : spec.pipelining;
}

std::unique_ptr<Execution> make_execution(Schedule schedule, const Spec& spec) {
  if (spec.recipe.algorithm->relays) {
    return std::make_unique<RelayedExecution>(make_transport(mpi.comm_world), nullptr, std::move(schedule),
                                              nullptr);
  }
  return std::make_unique<ScheduleExecution>(make_transport(mpi.comm_world), nullptr, std::move(schedule),
                                             pipelining_of(spec));
}

}  // namespace

OwnCall::OwnCall(const Operands& operands, const Spec& spec, const Topology& topology, double round)
    : operands_(operands),
      borders_(borders_of(operands.role, false)),
      output_borders_(borders_of(operands.role, true)),
      call_(call_of(operands, borders_)),
      rounds_(std::make_unique<Rounds>(round)),
      execution_(make_execution(schedule_of(operands, spec, topology), spec)) {
  call_.borders = borders_;
  call_.output_borders = output_borders_;
  execution_->observe(rounds_.get());
}

void OwnCall::run() {
  if (operands_.copies) {
    std::memcpy(operands_.copy, operands_.output,
                operands_.role.count * static_cast<std::size_t>(operands_.element.size));
  }
  execution_->start(call_, {});
  while (!execution_->ended()) execution_->progress();
  if (execution_->error() != MPI_SUCCESS) throw std::runtime_error("a message failed in the simulation");
}

void run_native(const Operands& operands, MPI_Op operation) {
  const bench::Role& role = operands.role;
  void* const function = dlsym(RTLD_DEFAULT, ("P" + mpi_name(role.collective)).c_str());
  if (function == nullptr) throw std::runtime_error("SMPI has no " + mpi_name(role.collective));
  const bench::Element element{"", operands.element.datatype,
                               static_cast<std::size_t>(operands.element.size)};
  bench::Arguments(role, element)
      .give(operands.input, operands.output, operation, mpi.comm_world,
            [&](auto... given) { return reinterpret_cast<int (*)(decltype(given)...)>(function)(given...); });
}

}  // namespace stretto::simulate
