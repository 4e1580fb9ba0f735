// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/collective.hpp"
#include "model/instant.hpp"
#include "model/machine.hpp"
#include "model/plan.hpp"
#include "model/staged_blocks.hpp"
#include "schedule/pipelining.hpp"

namespace stretto {

/// The model of the cost of a message (node-aware paper, section IV).
enum class CostModel : std::uint8_t {
  postal,      // every pair of ranks is as distant as two nodes (equation 1)
  node_aware,  // by the level of the pair (equation 2)
  max_rate,    // in addition, links, memory and the fabric are shared (equation 3)
};

/// Whether a rank sends and receives at the same time (Fig. 3 of the CNN-training paper: OVLP and NOVL).
enum class Overlap : std::uint8_t { as_measured, full, none };

struct WalkOptions {
  CostModel model = CostModel::max_rate;
  Overlap overlap = Overlap::as_measured;
  bool arithmetic = true;  // reductions take time (the pipelined paper's Fig. 4: NOOP)
  bool engine = true;      // the engine's overhead is counted
};

/// Whether the buffers of all ranks are in device memory, and how the engine stages them there.
enum class Staging : std::uint8_t {
  none,         // they are in host memory
  by_segments,  // a segment is copied while others travel
  whole,        // a rank begins when all it reads has been fetched, and puts its results back at the end
};

/// The call to predict.
struct WalkedCall {
  Collective collective = Collective::allreduce;
  std::size_t bytes = 0;  // of the whole message
  Pipelining pipelining;
  std::size_t element_bytes = 4;
  /// Rates are those for vectors of this many bytes; 0: of `bytes`. The two differ where a part of the
  /// message is walked.
  std::size_t rated_bytes = 0;
  Staging staging = Staging::none;

  [[nodiscard]] std::size_t rated() const { return rated_bytes > 0 ? rated_bytes : bytes; }
  [[nodiscard]] std::size_t elements() const { return bytes / element_bytes; }
  [[nodiscard]] std::size_t segments() const { return pipelining.count(elements(), element_bytes); }
};

struct Walk {
  std::vector<double> begins;  // [rank] when it first sends or has received
  std::vector<Instant> ends;   // [rank] when it has its result
  std::int64_t messages = 0;

  /// The time of the last rank.
  [[nodiscard]] const Instant& end() const;
};

/// Predicts the time of each rank. `starts`: [rank] when it begins; all at 0 if empty. The walk goes through
/// the schedules as the engine does: several segments are in flight, receives are posted first, and each rank
/// has one core, which posts, finishes and reduces one after the other. Messages go cut-through from the
/// sender's port over the links to the receiver's port.
///
/// `staged`: the blocks that ranks copy, if the call is staged, in parts_of_segment() parts or in one. A
/// staged call is not direct. Blocks whose lengths only two ranks know are staged as a whole. Throws
/// std::invalid_argument if a call is staged and `staged` is missing.
Walk walk(const Plan& plan, const WalkedCall& call, const Machine& machine, const WalkOptions& options = {},
          std::span<const Instant> starts = {}, const StagedBlocks* staged = nullptr);

}  // namespace stretto
