// SPDX-License-Identifier: Apache-2.0
#include "model/predictor.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include "model/cut.hpp"
#include "schedule/staging.hpp"

namespace stretto {
namespace {

/// The walk takes this many windows of segments, and then twice as many, to see how long one more segment
/// takes.
constexpr std::size_t walked_windows = 3;

constexpr std::array all_parts{Part::latency,  Part::wire,    Part::reduction,
                               Part::overhead, Part::waiting, Part::copy};

/// Returns the value at `x` on the straight line through two points.
Instant draw_out(double x1, const Instant& y1, double x2, const Instant& y2, double x) {
  const double factor = (x - x1) / (x2 - x1);
  Instant result;
  for (const Part part : all_parts) {
    result = result.after(y1.part(part) + factor * (y2.part(part) - y1.part(part)), part);
  }
  return result;
}

std::size_t parts_of(const WalkedCall& call) {
  return call.staging == Staging::by_segments ? parts_of_segment(call.bytes, call.segments()) : 1;
}

}  // namespace

Predictor::Predictor(Recipe recipe, Topology topology, int root, std::size_t most_steps)
    : recipe_(std::move(recipe)),
      topology_(std::move(topology)),
      ranks_(topology_.ranks()),
      root_(root),
      most_steps_(most_steps) {
  if (topology_.nodes > Growth::most_nodes && has_equal_nodes()) {
    // With more ranks, even few steps would take long to build, because some schedules look at all ranks.
    constexpr int most_ranks = 65'536;
    steps_ = growth().most_steps(topology_.nodes);
    if (ranks_ > most_ranks) steps_ = std::max(steps_, most_steps_ + 1);
    if (steps_ > most_steps_) forget_ranks();
    return;
  }
  // The root, or rank 0, which is a leader in all algorithms, does as much as any rank.
  const Schedule busiest = build(recipe_, topology_, root_, root_);
  steps_ = busiest.actions().size() * static_cast<std::size_t>(topology_.ranks());
}

/// Frees what is known about ranks, since no call is walked on all nodes. With a million ranks, each of
/// dozens of recipes would keep 32 MB.
void Predictor::forget_ranks() {
  for (const auto labels :
       {&Topology::node_of, &Topology::place_of, &Topology::by_node, &Topology::node_begin,
        &Topology::socket_of, &Topology::numa_of, &Topology::l3_of}) {
    topology_.*labels = {};
  }
}

bool Predictor::has_equal_nodes() const {
  return topology_.min_ppn == topology_.max_ppn && topology_.contiguous;
}

Growth& Predictor::growth() {
  if (!growth_) growth_.emplace(recipe_, topology_.max_ppn, root_);
  return *growth_;
}

Prediction Predictor::predict(const WalkedCall& call, const Machine& machine, const WalkOptions& options) {
  return recipe_.algorithm->relays ? walk_twice(call, machine, options)
                                   : predict_walk(call, machine, options);
}

/// Walks the lengths first and then the blocks. A rank goes on with the blocks as soon as it has its own
/// lengths.
Prediction Predictor::walk_twice(const WalkedCall& call, const Machine& machine, const WalkOptions& options) {
  WalkedCall of_lengths = call;
  of_lengths.bytes = static_cast<std::size_t>(ranks_) * sizeof(std::size_t);
  of_lengths.element_bytes = sizeof(std::size_t);
  of_lengths.pipelining = {};
  of_lengths.staging = Staging::none;
  WalkedCall of_blocks = call;
  if (call.staging != Staging::none) of_blocks.staging = Staging::whole;
  if (2 * steps_ <= most_steps_ || topology_.nodes <= 8) {
    const Walk first = walk_all(of_lengths, machine, options, 1);
    return {walk_all(of_blocks, machine, options, 1, first.ends).end(), false};
  }
  const Prediction lengths = predict_walk(of_lengths, machine, options);
  const Prediction blocks = predict_walk(of_blocks, machine, options);
  Instant end = lengths.end;
  for (const Part part : all_parts) end = end.after(blocks.end.part(part), part);
  return {end, true};
}

Prediction Predictor::predict_walk(const WalkedCall& call, const Machine& machine,
                                   const WalkOptions& options) {
  const std::size_t segments = call.segments();
  const std::size_t walked = std::min(segments, 2 * walked_windows * call.pipelining.in_flight());
  const bool shrinks = steps_ * walked > most_steps_ && topology_.nodes > 8;
  Prediction found =
      shrinks ? shrink_nodes(call, machine, options) : walk_segments(call, machine, options, parts_of(call));
  if (call.staging == Staging::none || !found.extrapolated) return found;
  WalkedCall on_host = call;
  on_host.staging = Staging::none;
  found.end = later(found.end, predict_walk(on_host, machine, options).end);
  found.end = later(found.end, copies_alone(call, machine.device.value_or(Device{})));
  return found;
}

Walk Predictor::walk_all(const WalkedCall& call, const Machine& machine, const WalkOptions& options,
                         std::size_t parts, std::span<const Instant> starts) {
  if (!plan_) plan_.emplace(recipe_, topology_, root_);
  if (call.staging == Staging::none) return walk(*plan_, call, machine, options, starts);
  if (!staged_ || staged_->parts() != parts) staged_.emplace(recipe_, topology_, root_, parts);
  return walk(*plan_, call, machine, options, starts, &*staged_);
}

Instant Predictor::copies_alone(const WalkedCall& call, const Device& device) const {
  WalkedCall uncut = call;
  uncut.pipelining = {};
  // On more nodes, ranks copy the same share of the message, or hardly less.
  const bool is_large = topology_.nodes > Growth::most_nodes && has_equal_nodes();
  const Topology smaller = is_large ? uniform(Growth::most_nodes, topology_.max_ppn) : Topology{};
  const Topology& topology = is_large ? smaller : topology_;
  const int root = root_ % topology.ranks();
  const Cut cut(build(recipe_, topology, root, root).blocks(), uncut);
  const auto seconds = [&](const std::vector<StagedRank::Part>& copied, bool is_to_host) {
    double all = 0;
    for (const StagedRank::Part& part : copied) {
      std::size_t elements = 0;
      for (const Plan::Run& run : part.runs) elements += cut.elements(run, 0);
      const auto bytes = static_cast<double>(elements * call.element_bytes);
      // Each segment of the part is a copy.
      const auto copies = static_cast<double>(call.staging == Staging::whole ? 1 : call.segments());
      all += device.seconds(bytes, is_to_host) + (copies - 1) * device.latency;
    }
    return all;
  };
  double most = 0;
  for (const int rank : {root, (root + 1) % topology.ranks()}) {
    const StagedRank staged(build(recipe_, topology, root, rank), recipe_.algorithm->collective,
                            parts_of(call));
    const double to_host = seconds(staged.fetched, true);
    const double to_device = seconds(staged.put_back, false);
    most =
        std::max(most, call.staging == Staging::whole ? to_host + to_device : std::max(to_host, to_device));
  }
  return Instant{}.after(most, Part::copy);
}

void Predictor::refuse_too_many(std::size_t steps) {
  constexpr std::size_t most = 30'000'000;  // in 3 GB
  if (steps <= most) return;
  // If one rank has more actions than the others, all ranks together have fewer.
  const bool is_large = topology_.nodes > Growth::most_nodes || !has_equal_nodes();
  if (!is_large && growth().steps(topology_.nodes) * (steps / steps_) <= most) return;
  throw std::invalid_argument("too many ranks on " + std::to_string(topology_.nodes) + " nodes for " +
                              to_string(recipe_) + " to be predicted: " + std::to_string(steps) +
                              " actions, at most " + std::to_string(most) + "; give fewer ranks a node");
}

Prediction Predictor::walk_segments(const WalkedCall& call, const Machine& machine,
                                    const WalkOptions& options, std::size_t parts) {
  const std::size_t segments = call.segments();
  const std::size_t few = walked_windows * call.pipelining.in_flight();
  refuse_too_many(steps_ * std::min(segments, 2 * few));
  if (segments <= 2 * few || steps_ * segments <= most_steps_) {
    return {walk_all(call, machine, options, parts).end(), false};
  }
  const auto walk_some = [&](std::size_t some) {
    WalkedCall shorter = call;
    shorter.bytes = call.bytes / segments * some;
    shorter.rated_bytes = call.rated();
    shorter.pipelining.segments = static_cast<int>(some);
    shorter.pipelining.segment_bytes = 0;
    return walk_all(shorter, machine, options, parts).end();
  };
  return {draw_out(static_cast<double>(few), walk_some(few), static_cast<double>(2 * few), walk_some(2 * few),
                   static_cast<double>(segments)),
          true};
}

Prediction Predictor::shrink_nodes(const WalkedCall& call, const Machine& machine,
                                   const WalkOptions& options) {
  if (!has_equal_nodes()) {
    throw std::invalid_argument("the cluster is too large to predict " + to_string(recipe_) +
                                ", unless all nodes have the same number of consecutive ranks");
  }
  const std::size_t walked = std::min(call.segments(), 2 * walked_windows * call.pipelining.in_flight());
  const int doublings = std::max(1, growth().period());
  const auto shrink = [&](int nodes) {
    for (int i = 0; i < doublings; ++i) nodes = half_of(nodes);
    return nodes;
  };
  int fewer = shrink(topology_.nodes);
  const auto is_too_large = [&](int nodes) {
    return nodes > Growth::most_nodes || growth().steps(nodes) * walked > most_steps_ / smaller_by;
  };
  while (fewer > 8 && shrink(shrink(fewer)) > 1 && is_too_large(fewer)) fewer = shrink(fewer);
  const auto on = [&](int nodes, double part = 1) { return walk_on(nodes, part, call, machine, options); };
  if (growth().is_by_nodes()) {
    // Blocks keep their length.
    const auto part = [&](int nodes) {
      return growth().cuts_by_nodes() ? static_cast<double>(nodes) / topology_.nodes : 1;
    };
    const int fewest = half_of(fewer);
    return {draw_out(fewest, on(fewest, part(fewest)), fewer, on(fewer, part(fewer)), topology_.nodes), true};
  }
  int fewest = shrink(fewer);
  while (fewest > 1 && growth().rounds(fewest) == growth().rounds(fewer)) fewest = half_of(fewest);
  const auto draw_from = [&](const Instant& few, const Instant& more) {
    return draw_out(growth().rounds(fewest), few, growth().rounds(fewer), more,
                    growth().rounds(topology_.nodes));
  };
  if (!growth().has_short_rounds()) return {draw_from(on(fewest), on(fewer)), true};
  // A message so short that bytes hardly count, but with no empty block, shows the time of the further
  // rounds.
  const double part =
      std::clamp(static_cast<double>(growth().blocks(fewer)) / static_cast<double>(call.elements()),
                 static_cast<double>(fewest) / topology_.nodes, 1.0);
  const Instant short_one = on(fewer, part);
  const Instant longer = draw_from(on(fewest, part), short_one);
  Instant end = on(fewer);
  for (const Part one : all_parts) end = end.after(longer.part(one) - short_one.part(one), one);
  return {end, true};
}

Instant Predictor::walk_on(int nodes, double part, WalkedCall call, const Machine& machine,
                           const WalkOptions& options) {
  const int ppn = topology_.max_ppn;
  if (part < 1) {
    const std::size_t segments = call.segments();
    call.rated_bytes = call.rated();
    call.bytes =
        std::max(call.element_bytes, static_cast<std::size_t>(part * static_cast<double>(call.bytes)));
    call.pipelining.segments = static_cast<int>(segments);
    call.pipelining.segment_bytes = 0;
  }
  std::unique_ptr<Predictor>& smaller = on_fewer_[nodes];
  if (!smaller) {
    smaller = std::make_unique<Predictor>(recipe_, uniform(nodes, ppn), root_ % (nodes * ppn), most_steps_);
  }
  return smaller->walk_segments(call, machine, options, parts_of(call)).end;
}

}  // namespace stretto
