// SPDX-License-Identifier: Apache-2.0
// What the kernel counts on the TCP connections of this process, whoever made them: Stretto, an MPI library,
// or the program.
#pragma once

#include <cstdint>
#include <vector>

#include "sockets/address.hpp"

namespace stretto {

/// One connection, since it was made.
struct TcpCounters {
  Address from;
  Address to;
  std::uint64_t delivered = 0;  // bytes that the other end has acknowledged
  double busy = 0;              // seconds in which sent bytes were not acknowledged yet
};

/// Returns the connections that lead to another node. Takes a microsecond or two for each open file. The
/// result is empty if there are more than 4,096, or if the kernel (before Linux 4.10) does not count the
/// time.
std::vector<TcpCounters> read_tcp_counters();

}  // namespace stretto
