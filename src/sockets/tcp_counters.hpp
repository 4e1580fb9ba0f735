// SPDX-License-Identifier: Apache-2.0
// What the kernel counts on the TCP connections of this process, whoever made them: Stretto, an MPI library,
// or the program.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sockets/address.hpp"

namespace stretto {

/// What a connection has carried since it was made.
struct TcpDelivery {
  std::uint64_t delivered = 0;  // bytes that the other end has acknowledged
  double busy = 0;              // seconds in which sent bytes were not acknowledged yet
};

struct TcpCounters : TcpDelivery {
  Address from;
  Address to;
};

/// Returns nothing if the kernel (before Linux 4.10) does not count the time.
std::optional<TcpDelivery> read_tcp_delivery(int file);

/// Returns the connections that lead to another node. Takes a microsecond or two for each open file. The
/// result is empty if there are more than 4,096, or if the kernel (before Linux 4.10) does not count the
/// time.
std::vector<TcpCounters> read_tcp_counters();

}  // namespace stretto
