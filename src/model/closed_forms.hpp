// SPDX-License-Identifier: Apache-2.0
// The costs of allreduce algorithms as formulas: Table 1 of the CNN-training paper (section 3.2), Table 1 of
// the pipelined paper (section 3.2), and equations 4-6 of the node-aware paper (section IV).
//
// Corrections to the printed text:
// - "Otherwise, all logarithmic costs need to be rounded up" (pipelined paper, 3.2) is wrong if p is not a
//   power of two. The ranks beyond the largest power of two first send their message to another rank and
//   receive the result last: floor(log2 p) + 2 messages, of which two are whole ones. With rounding up, 7
//   ranks would take as long as 8; the figures of the same papers show that they take longer.
// - The text of the CNN-training paper says that Fig. 1 is for n = 2^20 bytes and beta = 11,770 MiB/s. The
//   caption and section 3.3 say 16 * 2^20 bytes and 11,770 * 10^6 bytes/s, and only these give the curves.
// - No MPI library has the segmented ring that the paper calls SRG (Open MPI's divides the blocks of a ring:
//   it has the ring's costs, with more messages). algorithms/allreduce/segmented_ring.cpp has the printed
//   costs.
// - LIN's 2(p-1) latencies count all messages as if they came one after the other; the root's messages
//   overlap in part.
#pragma once

#include <span>
#include <string_view>

#include "model/machine.hpp"

namespace stretto {

/// The costs of the busiest rank, which it pays one after the other.
struct Cost {
  double messages = 0;  // between nodes
  double bytes = 0;
  double node_messages = 0;  // inside a node
  double node_bytes = 0;
  double reduced_bytes = 0;
  /// The number of ranks of a node that use the network at the same time.
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
  /// Returns the costs. The postal forms treat all p ranks as equally distant from each other.
  Cost (*cost)(const FormulaCall& call);
};

std::span<const ClosedForm> closed_forms();

/// Returns the seconds on a machine by the max-rate model (node-aware paper, equation 3): the active ranks of
/// a node share the injection limit. The time to reduce a byte depends on the length of the whole message.
double seconds(const Cost& cost, double message_bytes, const Machine& machine);

}  // namespace stretto
