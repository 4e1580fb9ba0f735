// SPDX-License-Identifier: Apache-2.0
#include "simulate/measure.hpp"

#include "mpi/mpi.hpp"

#include <algorithm>
#include <map>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <utility>

#include "bench/cases/expectations.hpp"
#include "select/rule.hpp"
#include "simulate/arithmetic.hpp"
#include "simulate/calls.hpp"
#include "simulate/virtual_time.hpp"

namespace stretto::simulate {
namespace {

// All ranks share one process and take turns. They write their common results here.
std::vector<std::string> host_names;
double slowest = 0;
bool all_right = true;

/// Ranks on one host are on one node.
Topology find_topology(int rank, int ranks) {
  host_names.resize(static_cast<std::size_t>(ranks));
  host_names[static_cast<std::size_t>(rank)] = simgrid::s4u::this_actor::get_host()->get_name();
  mpi.Barrier(mpi.comm_world);
  std::map<std::string, int> numbers;
  std::vector<int> labels;
  labels.reserve(host_names.size());
  for (const std::string& name : host_names) {
    labels.push_back(numbers.try_emplace(name, static_cast<int>(numbers.size())).first->second);
  }
  return Topology::from_labels(labels);
}

int rank_in_world() {
  int rank = 0;
  mpi.Comm_rank(mpi.comm_world, &rank);
  return rank;
}

int ranks_in_world() {
  int ranks = 0;
  mpi.Comm_size(mpi.comm_world, &ranks);
  return ranks;
}

/// Returns the seconds until the last rank has ended. No barrier comes before that, which would hide the last
/// rank.
template <typename Work>
double timed(const Work& work) {
  start_together();
  const double begin = now();
  slowest = 0;  // no rank has ended yet: virtual time stands still until all have begun
  work();
  slowest = std::max(slowest, now() - begin);
  mpi.Barrier(mpi.comm_world);
  const double seconds = slowest;
  mpi.Barrier(mpi.comm_world);
  return seconds;
}

}  // namespace

Simulation::Simulation(const bench::Options& options, Data data, bool with_arithmetic, int in_a_row)
    : options_(options),
      data_(data),
      with_arithmetic_(with_arithmetic),
      in_a_row_(in_a_row),
      type_(bench::find_element(options.type)),
      rank_(rank_in_world()),
      ranks_(ranks_in_world()),
      topology_(find_topology(rank_, ranks_)),
      pattern_(type_, ranks_),
      reduction_(rows_of("stretto/reduction", 1)),
      round_(value_of("stretto/round")),
      operation_(make_sum_operation()) {}

double Simulation::seconds_per_byte(std::size_t vector_bytes) const {
  if (!with_arithmetic_ || reduction_.empty()) return 0;
  return 1 / row_for(reduction_, static_cast<double>(vector_bytes)).values[0];
}

Spec Simulation::resolve(const bench::Case& one, const std::string& spec) const {
  const Collective collective = collective_of(options_.collective);
  if (spec != "auto") return parse_spec(collective, spec);
  return choose({.collective = collective,
                 .bytes = one.bytes,
                 .ranks = ranks_,
                 .nodes = topology_.nodes,
                 .min_ppn = topology_.min_ppn,
                 .max_ppn = topology_.max_ppn});
}

void Simulation::warm_up() {
  if (std::exchange(is_warm_, true)) return;
  try {
    run({static_cast<std::size_t>(ranks_), 0, false}, "native");
  } catch (const std::invalid_argument&) {
    // A call that is too short is refused on all ranks. Only the timed call must not be refused.
  }
}

Simulated Simulation::run(const bench::Case& one, const std::string& spec) {
  const bench::Role role{options_.collective, one.count, one.in_place, options_.root, rank_, ranks_,
                         options_.skew};
  const Spec resolved = resolve(one, spec);
  if (resolved.is_native() && !resolved.is_pass_through()) {
    throw std::invalid_argument("spec " + spec + ": SMPI imitates no library's non-blocking collectives");
  }
  if (resolved.is_native()) warm_up();
  const kernels::Function kernel = kernels::find(kernel_type(type_.name), kernels::Op::sum);
  set_arithmetic({seconds_per_byte(one.bytes), type_.size, data_ == Data::real ? kernel : nullptr});
  const auto size = static_cast<std::ptrdiff_t>(type_.size);
  const Element element{.datatype = type_.datatype,
                        .op = operation_,
                        .size = size,
                        .extent = size,
                        .true_extent = size,
                        .kernel = &sum};

  const Buffer input(BufferRole::input, role.input_count() * type_.size, data_);
  const Buffer output(BufferRole::output, role.output_count() * type_.size, data_);
  ++generation_;
  if (data_ == Data::real) {
    const bench::Holdings before = bench::holdings_before(role, generation_);
    bench::fill(pattern_, before.input, input.data());
    bench::fill(pattern_, before.output, output.data());
  }
  const bool copies = one.in_place && bench::is_alltoall(role.collective) && !resolved.is_native();
  const Buffer copy(BufferRole::input, copies ? role.count * type_.size : 0, data_);
  const Operands operands{role,          element,     input.data(),
                          output.data(), copy.data(), copies && data_ == Data::real};
  Simulated result;
  result.chosen = to_string(resolved);
  if (resolved.is_native()) {
    result.seconds = timed([&] {
      for (int call = 0; call < in_a_row_; ++call) run_native(operands, operation_);
    });
  } else {
    OwnCall call(operands, resolved, topology_, round_);
    result.seconds = timed([&] {
      for (int times = 0; times < in_a_row_; ++times) call.run();
    });
  }
  if (data_ == Data::real) {
    const bench::Holdings after = bench::holdings_after(role, generation_);
    all_right = true;
    mpi.Barrier(mpi.comm_world);
    all_right = bench::hold(pattern_, after.input, input.data()) &&
                bench::hold(pattern_, after.output, output.data()) && all_right;
    mpi.Barrier(mpi.comm_world);
    result.correct = all_right;
    mpi.Barrier(mpi.comm_world);
  }
  return result;
}

double ping_pong(std::size_t bytes) {
  const int rank = rank_in_world();
  const int last = ranks_in_world() - 1;
  const Buffer buffer(BufferRole::input, bytes, Data::none);
  const auto count = static_cast<int>(bytes);
  const auto send = [&](int to) { mpi.Send(buffer.data(), count, mpi.byte, to, 0, mpi.comm_world); };
  const auto receive = [&](int from) {
    mpi.Recv(buffer.data(), count, mpi.byte, from, 0, mpi.comm_world, mpi.status_ignore);
  };
  return timed([&] {
           if (rank == 0) {
             send(last);
             receive(last);
           } else if (rank == last) {
             receive(0);
             send(0);
           }
         }) /
         2;
}

}  // namespace stretto::simulate
