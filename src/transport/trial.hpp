// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace stretto {

/// Starts two processes that make their memory as two ranks of a node of `ranks` ranks do, map each other's
/// memory, and pass messages both ways. Returns one line with the reason if something fails, or an empty
/// string. If the kernel ends a process that asks for too much memory, it ends one of these, not the caller.
std::string try_node_memory(int ranks, std::size_t store_bytes);

}  // namespace stretto
