// SPDX-License-Identifier: Apache-2.0
#include "sockets/tcp_counters.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <thread>
#include <vector>

#include "sockets/address.hpp"
#include "sockets/socket.hpp"

namespace stretto {
namespace {

Address loopback(int last) {
  Address address{.family = 4};
  address.ip = {std::byte{127}, std::byte{0}, std::byte{0}, static_cast<std::byte>(last)};
  return address;
}

/// Sends bytes from 127.0.0.1 to 127.0.0.2, through a socket of this family, and returns what the kernel
/// counts on that connection.
std::vector<TcpCounters> counted(int family, std::size_t bytes) {
  Address to = loopback(2);
  const Socket listener = listen_at(to);
  const Socket sender(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  SystemAddress there(to);
  if (family == AF_INET6) {
    sockaddr_in6 mapped{};
    mapped.sin6_family = AF_INET6;
    mapped.sin6_port = htons(to.port);
    EXPECT_EQ(inet_pton(AF_INET6, "::ffff:127.0.0.2", &mapped.sin6_addr), 1);
    EXPECT_EQ(connect(sender.file(), reinterpret_cast<const sockaddr*>(&mapped), sizeof(mapped)), 0);
  } else {
    EXPECT_EQ(connect(sender.file(), there.get(), there.length), 0);
  }
  const Socket receiver(accept(listener.file(), nullptr, nullptr));
  std::vector<std::byte> data(bytes);
  std::jthread reading([&] {
    std::vector<std::byte> got(bytes);
    std::size_t all = 0;
    while (all < bytes) {
      const ssize_t now = recv(receiver.file(), got.data(), bytes - all, 0);
      if (now <= 0) return;
      all += static_cast<std::size_t>(now);
    }
  });
  EXPECT_EQ(send(sender.file(), data.data(), bytes, 0), static_cast<ssize_t>(bytes));
  reading.join();
  std::vector<TcpCounters> found;
  for (const TcpCounters& one : read_tcp_counters()) {
    if (one.to == to) found.push_back(one);
  }
  return found;
}

TEST(TcpCounters, CountWhatAConnectionHasDelivered) {
  constexpr std::size_t bytes = 4 << 20;
  for (const int family : {AF_INET, AF_INET6}) {
    const std::vector<TcpCounters> found = counted(family, bytes);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].from.ip, loopback(1).ip);
    EXPECT_GE(found[0].delivered, bytes);
    EXPECT_LE(found[0].delivered, bytes + 1);  // with the connection's beginning
    EXPECT_GE(found[0].busy, 0);
    EXPECT_LT(found[0].busy, 10);
  }
}

TEST(TcpCounters, ConnectionsOfTheNodeItselfDoNotCount) {
  Address at = loopback(1);
  const Socket listener = listen_at(at);
  const Socket sender(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  SystemAddress there(at);
  ASSERT_EQ(connect(sender.file(), there.get(), there.length), 0);
  for (const TcpCounters& one : read_tcp_counters()) EXPECT_NE(one.to, at);
}

}  // namespace
}  // namespace stretto
