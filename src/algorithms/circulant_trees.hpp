// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace stretto {

/// The messages of one rank in a round of a broadcast from rank 0.
struct TreeStep {
  int sent = -1;  // the block; -1: none
  int to = 0;
  int received = -1;
  int from = 0;
};

/// Returns the number of blocks of a broadcast by a circulant graph: ⌈log2 p⌉.
int circulant_trees(int ranks);

/// Returns the 2q rounds of rank `me` in a broadcast of q = ⌈log2 p⌉ blocks from rank 0. Each block has a
/// tree of its own. No rank sends more than one block a round, nor more than q in all, so all links carry the
/// same.
///
/// In round k of q, and again in round q+k, rank r sends to r + s(k) and receives from r - s(k), modulo p.
/// The skips are s(q) = p, s(k) = ⌈s(k+1)/2⌉. The root sends block k in round k, to rank s(k). A rank
/// receives one block in the first q rounds, its *base block*, and the others in the second q. So while one
/// message is in its second half, the next one can be in its first: that is the pipeline of the paper, with
/// segments as its phases. With S segments it takes (S+1)q rounds for Sq blocks, one more than any broadcast
/// needs.
///
/// A rank finds its steps by itself, in O(q²) operations.
///
/// Source: Traeff 2024, "Optimal Broadcast Schedules in Logarithmic Time with Applications to Broadcast,
/// All-Broadcast, Reduction and All-Reduction" (arXiv 2407.18004).
std::vector<TreeStep> circulant_steps(int ranks, int me);

}  // namespace stretto
