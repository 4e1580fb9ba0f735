// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace stretto::bench {

/// Returns the next line of rank 0's standard input, on all ranks; nothing at its end or after a line `end`
/// (the launcher of Open MPI 5 does not pass the end on). Collective over MPI_COMM_WORLD. Waiting ranks leave
/// the processor to others, because the next line may take minutes.
std::optional<std::string> next_request(int rank);

}  // namespace stretto::bench
