// SPDX-License-Identifier: Apache-2.0
// The costs of allreduce algorithms as formulas: Table 1 of the CNN-training paper (section 3.2), Table 1 of
// the pipelined paper (section 3.2), and equations 4-6 of the node-aware paper (section IV).
//
// Set right, against what is printed:
// - "Otherwise, all logarithmic costs need to be rounded up" (pipelined paper, 3.2) is not what happens where
//   p is no power of two: the ranks beyond the largest power of two send their message to another rank first
//   and get the result last, so floor(log2 p) + 2 messages, of which two are whole ones. Rounding up would
//   say that 7 ranks take as long as 8; the same papers' figures show that they take longer.
// - The CNN-training paper's text gives Fig. 1 for n = 2^20 bytes and beta = 11,770 MiB/s; its caption and
//   section 3.3 have 16 * 2^20 bytes and 11,770 * 10^6 bytes/s, and only these give the curves.
// - Its SRG is no library's segmented ring (Open MPI's cuts the blocks of a ring: its costs are the ring's,
//   with more messages). What the printed costs add up to is algorithms/allreduce/segmented_ring.cpp.
// - LIN's 2(p-1) latencies take every message as one after the other; the root's messages overlap in part.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "model/machine.hpp"

namespace stretto {

/// What the busiest rank does, one after the other.
struct Cost {
  double messages = 0;  // between nodes
  double bytes = 0;
  double node_messages = 0;  // inside a node
  double node_bytes = 0;
  double reduced_bytes = 0;
  /// Ranks of a node that use the network at once.
  double active_ranks = 1;
};

/// What the formulas are about.
struct FormulaCall {
  double bytes = 0;
  int nodes = 1;
  int ppn = 1;
  int segments = 64;  // of what is segmented
};

struct ClosedForm {
  std::string_view algorithm;  // as a spec names it, if it is one of ours
  std::string_view label;      // as the papers do
  std::string_view source;
  /// The postal ones count all p ranks as equally far from each other.
  Cost (*cost)(const FormulaCall& call);
};

std::span<const ClosedForm> closed_forms();
/// nullptr if there is none of that name.
const ClosedForm* find_closed_form(std::string_view algorithm);

/// Seconds on a machine by the max-rate model (node-aware paper, equation 3): the injection limit is shared
/// by the active ranks of a node. How fast a byte is reduced depends on how long the whole message is.
double seconds(const Cost& cost, double message_bytes, const Machine& machine);

}  // namespace stretto
