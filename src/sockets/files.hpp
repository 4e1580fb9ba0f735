// SPDX-License-Identifier: Apache-2.0
// The files of connections, beside those of the program.
#pragma once

#include <cstddef>
#include <functional>

#include "sockets/socket.hpp"

namespace stretto {

/// Returns what `open` opens: a descriptor, or -1 with a reason in errno. A job may need more connections
/// than the program may open files (RLIMIT_NOFILE). The program's limit stays, and so do most of its numbers:
/// once half of them are used, connections get numbers above the limit. That takes a higher limit for the
/// moment of the call, up to the hard one. Children that start in this moment get it, too.
Socket open_file(const std::function<int()>& open);

/// Returns how many files the process may have, connections among them.
std::size_t limit_of_files();

}  // namespace stretto
