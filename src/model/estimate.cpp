// SPDX-License-Identifier: Apache-2.0
#include "model/estimate.hpp"

#include <algorithm>
#include <vector>

#include "model/cut.hpp"

namespace stretto {
namespace {

/// The seconds for which one segment keeps each core, port, link and memory busy.
class Loads {
 public:
  Loads(const Plan& plan, const Machine& machine, std::size_t vector_bytes)
      : machine_(machine),
        vector_bytes_(vector_bytes),
        cores_(static_cast<std::size_t>(plan.ranks())),
        ports_out_(cores_.size()),
        ports_in_(cores_.size()),
        links_out_(static_cast<std::size_t>(plan.topology().nodes)),
        links_in_(links_out_.size()),
        memories_(links_out_.size()),
        topology_(plan.topology()) {
    if (const int nodes = machine.shared_cores.nodes; nodes > 0) {
      hosts_.resize((links_out_.size() + static_cast<std::size_t>(nodes) - 1) /
                    static_cast<std::size_t>(nodes));
    }
  }

  void add_message(int from, int to, double bytes) {
    const int from_node = topology_.node(from);
    const int to_node = topology_.node(to);
    const bool by_network = from_node != to_node;
    if (!by_network && machine_.shared) {
      add_work(from, machine_.shared->write_seconds(bytes, vector_bytes_));
      if (vector_bytes_ >= machine_.memory.from) at(memories_, from_node) += interval(machine_.memory, bytes);
      return;
    }
    const Level level = by_network ? Level::network : Level::node;
    const Protocol& protocol = machine_.protocol(level, static_cast<std::size_t>(bytes));
    const double of_core = machine_.engine_message + protocol.core_seconds(bytes);
    add_work(from, of_core);
    add_work(to, of_core);
    at(ports_out_, from) += bytes / protocol.bandwidth;
    at(ports_in_, to) += bytes / protocol.bandwidth;
    if (by_network) {
      at(links_out_, from_node) += interval(machine_.limit_of(from_node, topology_.nodes), bytes);
      at(links_in_, to_node) += interval(machine_.limit_of(to_node, topology_.nodes), bytes);
      fabric_ += interval(machine_.fabric, bytes);
    } else if (vector_bytes_ >= machine_.memory.from) {
      at(memories_, from_node) += interval(machine_.memory, bytes);
    }
  }
  /// Adds the work of the reader's core for a message through shared memory, if the message goes there. A
  /// reduction takes no further time then.
  bool add_reading(int from, int to, double bytes, bool reduces, Distance distance) {
    if (!machine_.shared || topology_.node(from) != topology_.node(to)) return false;
    add_work(to, reduces ? machine_.shared->reduce_seconds(bytes, vector_bytes_, distance)
                         : machine_.shared->read_seconds(bytes, vector_bytes_, distance));
    return true;
  }
  void add_work(int rank, double seconds) {
    at(cores_, rank) += seconds;
    if (hosts_.empty()) return;
    at(hosts_, topology_.node(rank) / machine_.shared_cores.nodes) += seconds / machine_.shared_cores.cores;
  }

  [[nodiscard]] double most() const {
    double most = fabric_;
    for (const auto* all : {&cores_, &ports_out_, &ports_in_, &links_out_, &links_in_, &memories_, &hosts_}) {
      for (const double one : *all) most = std::max(most, one);
    }
    return most;
  }

 private:
  static double& at(std::vector<double>& loads, int index) { return loads[static_cast<std::size_t>(index)]; }
  static double interval(const Limit& limit, double bytes) {
    const double wire = limit.bandwidth > 0 ? bytes / limit.bandwidth : 0;
    return std::max(wire, limit.message_rate > 0 ? 1 / limit.message_rate : 0);
  }

  const Machine& machine_;
  std::size_t vector_bytes_;
  std::vector<double> cores_;
  std::vector<double> ports_out_;
  std::vector<double> ports_in_;
  std::vector<double> links_out_;
  std::vector<double> links_in_;
  std::vector<double> memories_;
  std::vector<double> hosts_;  // of one of the host's cores, on average
  double fabric_ = 0;
  const Topology& topology_;
};

double busiest(const Plan& plan, const WalkedCall& call, const Machine& machine) {
  const Cut cut(plan, call);
  const double reduction = machine.reduction_seconds(call.bytes);
  Loads loads(plan, machine, call.bytes);
  for (std::size_t index = 0; index < plan.steps(); ++index) {
    const Plan::Step& step = plan.step(index);
    const auto bytes = static_cast<double>(cut.elements(step.run, 0) * call.element_bytes);
    if (bytes == 0) continue;
    if (step.kind == Kind::send) loads.add_message(step.rank, step.peer, bytes);
    const bool receives = step.kind == Kind::recv || step.kind == Kind::recv_reduce;
    if (receives &&
        loads.add_reading(step.peer, step.rank, bytes, step.kind == Kind::recv_reduce, plan.distance(step))) {
      continue;
    }
    const bool computes = step.kind != Kind::send && step.kind != Kind::recv;
    if (computes) loads.add_work(step.rank, bytes * reduction);
  }
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    loads.add_work(rank, machine.engine_round * (plan.end_round(rank) - plan.first_round(rank)));
  }
  return loads.most();
}

}  // namespace

double estimate_seconds(const Plan& plan, const WalkedCall& call, const Machine& machine) {
  const std::size_t segments = call.segments();
  WalkedCall first = call;
  if (segments > 1) {
    first.bytes = std::max((call.elements() + segments - 1) / segments, std::size_t{1}) * call.element_bytes;
    first.pipelining = {};
  }
  const Walk walked = walk(plan, first, machine);
  const double alone = walked.end().at();
  // Over many calls, a link passes on average no more than its rate, even if it has saved up some bytes.
  if (segments == 1) return machine.node.burst > 0 ? std::max(alone, busiest(plan, call, machine)) : alone;
  const auto further = static_cast<double>(segments - 1);
  // A rank that holds a segment for long can have only a window of segments at once.
  double held = 0;
  for (std::size_t rank = 0; rank < walked.ends.size(); ++rank) {
    if (walked.begins[rank] < walked.ends[rank].at()) {
      held = std::max(held, walked.ends[rank].at() - walked.begins[rank]);
    }
  }
  const auto windows = static_cast<double>(segments) / static_cast<double>(call.pipelining.in_flight());
  const double by_window = alone + std::max(windows - 1, 0.0) * held;
  return std::max(alone + further * busiest(plan, call, machine), by_window);
}

}  // namespace stretto
