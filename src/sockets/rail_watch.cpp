// SPDX-License-Identifier: Apache-2.0
#include "sockets/rail_watch.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace stretto {

Endpoint::RailWatch::RailWatch(Endpoint& endpoint)
    : endpoint_(endpoint),
      changes_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE)) {
  sockaddr_nl name{};
  name.nl_family = AF_NETLINK;
  name.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  const bool hears = changes_ &&
                     bind(changes_.file(), reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0 &&
                     endpoint_.poller_.add(changes_, *this);
  if (!hears) changes_.close();  // rails that are out of order are found by their silence
}

bool Endpoint::RailWatch::look(bool /*readable*/, bool /*writable*/) {
  std::array<std::byte, 8192> any{};
  // A message that was lost, since there were too many, is one too.
  while (recv(changes_.file(), any.data(), any.size(), MSG_DONTWAIT) > 0 || errno == ENOBUFS) errno = 0;
  endpoint_.look_at_rails();
  return true;
}

}  // namespace stretto
