// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other in MPI_Init, in one exchange over a tree: each sends what it knows of itself up,
// and rank 0 sends all of that down, with what it alone reads. Before that, nobody knows whether the others
// run with Stretto at all: one may have been started without the preload. A collective of ours would then
// meet another one of that rank's program; so nothing is sent here that a program could receive
// (interpose/start/early_messages.hpp), and what does not come is not waited for without a limit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace stretto {

/// What a rank knows of itself, and tells to all. Plain memory, without pointers.
struct RankFacts {
  /// A number that is the same exactly on ranks of one node.
  std::uint64_t node = 0;
  /// Where it is bound on its node (select/cpu_domains.hpp).
  std::int32_t socket = -1;
  std::int32_t numa = -1;
  std::int32_t most_tag = 0;
  /// Who may carry out its calls in the background (thread_level.hpp).
  std::int32_t background = 0;
};

/// What all ranks know after the exchange.
struct StartFacts {
  std::vector<RankFacts> of_rank;
  /// Rank 0's.
  std::string text;
};

/// `read_text`: called on rank 0 when the others are known to be there.
/// `limit`: seconds for which to wait for a rank; 0: for ever.
/// Returns whether all ranks of MPI_COMM_WORLD run with Stretto, which all of them then know. If not, `facts`
/// are empty, and one line that names those that do not has been written.
bool exchange_facts(const RankFacts& own, const std::function<std::string()>& read_text, double limit,
                    StartFacts& facts);

}  // namespace stretto
