// SPDX-License-Identifier: Apache-2.0
#include "sockets/rails.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>
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

void RailRate::note(Clock::time_point now, const TcpDelivery& counted) {
  // Links that were idle carry some hundred KiB at once, which would look like a fast rail.
  constexpr double least = 20e-3;  // s
  constexpr double first = 2e-3;
  constexpr double least_bytes = 128 << 10;  // whose last answer may come late
  const double busy = counted.busy - last_.busy;
  const auto bytes = static_cast<double>(counted.delivered - last_.delivered);
  if (busy < (rate_ == 0 ? first : least) || bytes < least_bytes) return;
  const double rate = bytes / busy;
  // The time until the last answer counts as busy, though nothing was on its way: the greater figure is
  // right.
  rate_ = std::max(rate, (3 * rate_ + rate) / 4);
  measured_ = now;
  last_ = counted;
}

std::optional<double> RailRate::at(Clock::time_point now) const {
  if (rate_ == 0) return std::nullopt;
  constexpr double doubles_each = 0.25;  // s
  return rate_ * std::exp2(std::chrono::duration<double>(now - measured_).count() / doubles_each);
}

RailSet find_rails_out_of_order(std::span<const Address> rails) {
  RailSet found;
  for (std::size_t rail = 0; rail < rails.size(); ++rail) found[rail] = !is_address_in_order(rails[rail]);
  return found;
}

}  // namespace stretto
