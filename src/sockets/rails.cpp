// SPDX-License-Identifier: Apache-2.0
#include "sockets/rails.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace stretto {

bool RailTrial::is_silent(Clock::time_point now, bool packets_wait, std::uint64_t answered,
                          Clock::duration round_trip) {
  const bool any_answer = std::exchange(answered_, answered) != answered;
  if (!packets_wait || any_answer) {
    waits_since_.reset();
    return false;
  }
  if (!waits_since_) waits_since_ = now;
  return now - *waits_since_ > std::max(patience_, 4 * round_trip);
}

bool RailTrial::is_connected(const Socket& socket) {
  tcp_info info{};
  socklen_t length = sizeof(info);
  return getsockopt(socket.file(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
         info.tcpi_state == TCP_ESTABLISHED;
}

RailSet find_rails_out_of_order(std::span<const Address> rails) {
  RailSet found;
  for (std::size_t rail = 0; rail < rails.size(); ++rail) found[rail] = !is_address_in_order(rails[rail]);
  return found;
}

}  // namespace stretto
