// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace stretto {

/// Starts two processes that make their memory as two ranks of a node of `ranks` do, map each other's, and
/// pass messages both ways. Returns one line that says what has failed, or an empty one. What the kernel may
/// do to a process that asks for too much memory happens to them, not to the caller.
std::string try_node_memory(int ranks, std::size_t store_bytes);

}  // namespace stretto
