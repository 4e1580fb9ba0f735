// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other in MPI_Init, in one exchange over a tree: each sends what it knows of itself
// up, and rank 0 sends all of that down, with what only it reads. Before that, no rank knows whether the
// others run with Stretto: one may have been started without the preload. A collective of Stretto would
// then meet another one of that rank's program. So nothing is sent that a program could receive
// (interpose/start/early_messages.hpp), and waiting for the first messages has a limit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "topology/crowd.hpp"

namespace stretto {

/// What a rank knows of itself and tells all others. Plain memory, without pointers.
struct RankFacts {
  /// A number that is the same on exactly the ranks of one node.
  std::uint64_t node = 0;
  /// Where the rank is bound on its node (topology/cpu_domains.hpp).
  std::int32_t socket = -1;
  std::int32_t numa = -1;
  std::int32_t l3 = -1;
  std::int32_t most_tag = 0;
  /// Who may handle its non-blocking and persistent calls (session/thread_level.hpp).
  std::int32_t background = 0;
  /// Where its shared memory is (transport/region.hpp).
  std::int32_t pid = 0;
  std::int32_t memory_file = -1;
  /// A number that is the same on all ranks that run under one kernel; 0: not known.
  std::uint64_t kernel = 0;
  CpuSpan cpus{};
};

/// What all ranks know after the exchange.
struct StartFacts {
  std::vector<RankFacts> of_rank;
  /// Rank 0's text.
  std::string text;
};

/// `read_text`: called on rank 0 once the others are known to be present. `limit`: seconds to wait for a
/// rank; 0: for ever. Returns whether all ranks of MPI_COMM_WORLD run with Stretto, the same on all of
/// them. If not, `facts` are empty, and one line that names the missing ranks has been written.
bool exchange_facts(const RankFacts& own, const std::function<std::string()>& read_text, double limit,
                    StartFacts& facts);

}  // namespace stretto
