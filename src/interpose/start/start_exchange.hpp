// SPDX-License-Identifier: Apache-2.0
// Lets the ranks exchange facts in MPI_Init, over a tree. Each rank sends its own facts up. Rank 0 sends the
// facts of all ranks down, with a text that only rank 0 reads. Before that, no rank knows whether the others
// run with Stretto: one may have been started without the preload. A collective of Stretto would then meet
// another collective of that rank's program. So nothing is sent that a program could receive
// (interpose/start/early_messages.hpp), and waiting for the first messages has a limit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "topology/crowd.hpp"

namespace stretto {

/// The facts about a rank that it sends to all others. They are plain memory, without pointers.
struct RankFacts {
  /// A number that is the same on exactly the ranks of one node.
  std::uint64_t node = 0;
  /// The domains to which the rank is bound on its node (topology/cpu_domains.hpp).
  std::int32_t socket = -1;
  std::int32_t numa = -1;
  std::int32_t l3 = -1;
  std::int32_t most_tag = 0;
  /// Who may handle its non-blocking and persistent calls (session/thread_level.hpp).
  std::int32_t background = 0;
  /// The process and file of its shared memory (transport/region.hpp).
  std::int32_t pid = 0;
  std::int32_t memory_file = -1;
  /// A number that is the same on all ranks that run under one kernel; 0: unknown.
  std::uint64_t kernel = 0;
  CpuSpan cpus{};
};

/// The facts that all ranks have after the exchange.
struct StartFacts {
  std::vector<RankFacts> of_rank;
  /// The text that rank 0 has read.
  std::string text;
};

/// Exchanges the facts of all ranks. Calls read_text() on rank 0 once the others are known to be present.
/// `limit` is the time to wait for a rank in seconds; 0: for ever. Returns whether all ranks of
/// MPI_COMM_WORLD run with Stretto. All of them get the same result. If not, `facts` are empty, and one line
/// that names the missing ranks has been written.
bool exchange_facts(const RankFacts& own, const std::function<std::string()>& read_text, double limit,
                    StartFacts& facts);

}  // namespace stretto
