// SPDX-License-Identifier: Apache-2.0
// The costs of allreduce algorithms as formulas: Table 1 of the CNN-training paper (section 3.2), Table 1 of
// the pipelined paper (section 3.2), and equations 4-6 of the node-aware paper (section IV).
//
// Corrections to what is printed:
// - "Otherwise, all logarithmic costs need to be rounded up" (pipelined paper, 3.2) is wrong if p is no power
//   of two. The ranks beyond the largest power of two first send their message to another rank and receive
//   the result last: floor(log2 p) + 2 messages, of which two are whole ones. With rounding up, 7 ranks would
//   take as long as 8; the figures of the same papers show that they take longer.
// - The text of the CNN-training paper gives Fig. 1 for n = 2^20 bytes and beta = 11,770 MiB/s. The caption
//   and section 3.3 have 16 * 2^20 bytes and 11,770 * 10^6 bytes/s, and only these give the curves.
// - Its SRG is the segmented ring of no library (Open MPI's divides the blocks of a ring: its costs are the
//   ring's, with more messages). algorithms/allreduce/segmented_ring.cpp has the printed costs.
// - LIN's 2(p-1) latencies count every message as one after the other; the root's messages overlap in part.
#pragma once

#include <span>
#include <string_view>

#include "model/machine.hpp"

namespace stretto {

/// The costs of the busiest rank, one after the other.
struct Cost {
  double messages = 0;  // between nodes
  double bytes = 0;
  double node_messages = 0;  // inside a node
  double node_bytes = 0;
  double reduced_bytes = 0;
  /// Ranks of a node that use the network at the same time.
  double active_ranks = 1;
};

/// The call that the formulas describe.
struct FormulaCall {
  double bytes = 0;
  int nodes = 1;
  int ppn = 1;
  int segments = 64;  // of a segmented algorithm
};

struct ClosedForm {
  std::string_view algorithm;  // its name in a spec, if Stretto has it
  std::string_view label;      // its name in the papers
  std::string_view source;
  /// The postal forms treat all p ranks as equally distant from each other.
  Cost (*cost)(const FormulaCall& call);
};

std::span<const ClosedForm> closed_forms();

/// Seconds on a machine by the max-rate model (node-aware paper, equation 3): the active ranks of a node
/// share the injection limit. The time to reduce a byte depends on the length of the whole message.
double seconds(const Cost& cost, double message_bytes, const Machine& machine);

}  // namespace stretto
