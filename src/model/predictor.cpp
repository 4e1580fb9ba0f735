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

/// The value at `x` on the straight line through two points.
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

Topology uniform(int nodes, int ppn) {
  std::vector<int> labels;
  for (int node = 0; node < nodes; ++node) {
    labels.insert(labels.end(), static_cast<std::size_t>(ppn), node);
  }
  return Topology::from_labels(labels);
}

Predictor::Predictor(Recipe recipe, Topology topology, int root, std::size_t most_steps)
    : recipe_(std::move(recipe)), topology_(std::move(topology)), root_(root), most_steps_(most_steps) {
  // The root, or rank 0, which is a leader in all algorithms, does as much as any rank.
  const Schedule busiest = build(recipe_, topology_, root_, root_);
  steps_ = busiest.actions().size() * static_cast<std::size_t>(topology_.ranks());
  blocks_ = busiest.blocks();
}

Prediction Predictor::predict(const WalkedCall& call, const Machine& machine, const WalkOptions& options) {
  return recipe_.algorithm->relays ? walk_twice(call, machine, options)
                                   : predict_walk(call, machine, options);
}

/// Lengths travel first. A rank goes on with the blocks as soon as it has its own lengths.
Prediction Predictor::walk_twice(const WalkedCall& call, const Machine& machine, const WalkOptions& options) {
  WalkedCall of_lengths = call;
  of_lengths.bytes = static_cast<std::size_t>(blocks_) * sizeof(std::size_t);
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
  const Cut cut(blocks_, uncut);
  const auto seconds = [&](const std::vector<StagedRank::Part>& copied, bool is_to_host) {
    double all = 0;
    for (const StagedRank::Part& part : copied) {
      std::size_t elements = 0;
      for (const Plan::Run& run : part.runs) elements += cut.elements(run, 0);
      const auto bytes = static_cast<double>(elements * call.element_bytes);
      // Each segment of it is a copy.
      const auto copies = static_cast<double>(call.staging == Staging::whole ? 1 : call.segments());
      all += device.seconds(bytes, is_to_host) + (copies - 1) * device.latency;
    }
    return all;
  };
  double most = 0;
  for (const int rank : {root_, (root_ + 1) % topology_.ranks()}) {
    const StagedRank its(build(recipe_, topology_, root_, rank), recipe_.algorithm->collective,
                         parts_of(call));
    const double to_host = seconds(its.fetched, true);
    const double to_device = seconds(its.put_back, false);
    most =
        std::max(most, call.staging == Staging::whole ? to_host + to_device : std::max(to_host, to_device));
  }
  return Instant{}.after(most, Part::copy);
}

Prediction Predictor::walk_segments(const WalkedCall& call, const Machine& machine,
                                    const WalkOptions& options, std::size_t parts) {
  const std::size_t segments = call.segments();
  const std::size_t few = walked_windows * call.pipelining.in_flight();
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
  const int nodes = topology_.nodes;
  const int ppn = topology_.max_ppn;
  if (topology_.min_ppn != ppn || !topology_.contiguous) {
    throw std::invalid_argument("too large a cluster for " + to_string(recipe_) +
                                " to be predicted, unless its nodes have as many ranks each, in a row");
  }
  const bool cut_by_ranks = blocks_ >= topology_.nodes;
  const auto on = [&](int fewer) {
    Predictor smaller(recipe_, uniform(fewer, ppn), root_ % (fewer * ppn), most_steps_);
    WalkedCall shorter = call;
    if (cut_by_ranks) {
      shorter.bytes = std::max<std::size_t>(
          call.element_bytes, call.bytes / static_cast<std::size_t>(nodes) * static_cast<std::size_t>(fewer));
      shorter.pipelining.segments = static_cast<int>(call.segments());
      shorter.pipelining.segment_bytes = 0;
    }
    return smaller.walk_segments(shorter, machine, options, parts_of(call)).end;
  };
  // Steps grow with the square of the nodes if each rank has a round for each of them.
  int fewer = nodes;
  const std::size_t walked = 2 * walked_windows * call.pipelining.in_flight();
  const auto steps_on = [&](int some) {
    const Topology smaller = uniform(some, ppn);
    return build(recipe_, smaller, root_ % smaller.ranks(), 0).actions().size() *
           static_cast<std::size_t>(smaller.ranks()) * std::min(walked, call.segments());
  };
  while (fewer > 8 && steps_on(fewer) > most_steps_ / 2) fewer /= 2;
  const int fewest = fewer / 2;
  return {draw_out(fewest, on(fewest), fewer, on(fewer), nodes), true};
}

}  // namespace stretto
