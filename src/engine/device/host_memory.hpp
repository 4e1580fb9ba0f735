// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// Whether memory is certainly the host's: on this thread's stack or in the heap that grows by brk, where no
/// driver maps anything. Takes a few nanoseconds. Most other memory is the host's, too.
bool is_surely_host_memory(const void* pointer);

}  // namespace stretto
