// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace stretto::bench {

/// The next line of rank 0's standard input, on all ranks; none when it has ended, or a line says `end` (the
/// launcher of Open MPI 5 does not pass the end on). Collective over MPI_COMM_WORLD. Ranks that wait leave
/// the processor to others, as it may take minutes.
std::optional<std::string> next_request(int rank);

}  // namespace stretto::bench
