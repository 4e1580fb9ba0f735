// SPDX-License-Identifier: Apache-2.0
#include "sockets/address.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

#include "sockets/ports.hpp"

namespace stretto {
namespace {

Address address_of(const char* ip, std::uint16_t port = 0) {
  Address address{.family = 4, .port = port};
  if (inet_pton(AF_INET, ip, address.ip.data()) == 1) return address;
  address.family = 6;
  EXPECT_EQ(inet_pton(AF_INET6, ip, address.ip.data()), 1) << ip;
  return address;
}

TEST(Address, HasAText) {
  EXPECT_EQ(to_string(address_of("10.0.0.1", 4567)), "10.0.0.1:4567");
  EXPECT_EQ(to_string(address_of("fe80::1", 65535)), "[fe80::1]:65535");
  EXPECT_EQ(to_string(address_of("::", 0)), "[::]:0");
}

TEST(Address, GoesThroughThatOfTheSystem) {
  Address link = address_of("fe80::12", 5000);
  link.scope = 3;
  for (const Address& address : {address_of("10.1.2.3", 80), address_of("2001:db8::7", 443), link}) {
    SystemAddress system(address);
    EXPECT_EQ(system.address(), address);
    EXPECT_EQ(system.length, address.family == 4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    EXPECT_EQ(system.get()->sa_family, address.family == 4 ? AF_INET : AF_INET6);
  }
  EXPECT_EQ(SystemAddress().address(), Address{});
}

TEST(Address, ListenerHasAPortOfItsOwn) {
  for (const char* ip : {"127.0.0.1", "::1"}) {
    Address one = address_of(ip);
    Address other = one;
    try {
      const Socket first = listen_at(one);
      const Socket second = listen_at(other);
      EXPECT_NE(one.port, 0);
      EXPECT_NE(one.port, other.port);
      EXPECT_EQ(one.ip, other.ip);
      SystemAddress to(one);
      const Socket client(socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      EXPECT_EQ(connect(client.file(), to.get(), to.length), 0);
    } catch (const std::system_error&) {
      // A machine may have no IPv6.
      EXPECT_EQ(one.family, 6);
    }
  }
}

TEST(Address, OfAnotherNodeCannotBeListenedAt) {
  Address elsewhere = address_of("198.51.100.1");
  EXPECT_THROW(listen_at(elsewhere), std::system_error);
}

TEST(OwnAddress, IsThatOfTheFirstInterfaceThatHasOne) {
  for (const char* names : {"lo", "lo,none", "none,lo", ",lo", "none,,lo,"}) {
    std::string error;
    const auto own = find_own_address(names, "198.51.100.1", error);
    ASSERT_TRUE(own) << names << ": " << error;
    EXPECT_EQ(own->port, 0);
    EXPECT_EQ(*own, address_of("127.0.0.1")) << names;
  }
}

TEST(OwnAddress, NeedsTheInterfaceThatIsNamed) {
  for (const char* names : {"none", "l", "lo0", "none,other", ",", "lo "}) {
    std::string error;
    EXPECT_FALSE(find_own_address(names, "127.0.0.1", error)) << names;
    EXPECT_NE(error.find(names), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(OwnAddress, IsTheLoopbackIfThatIsTheHost) {
  for (const char* host : {"127.0.0.1", "localhost"}) {
    std::string error;
    const auto own = find_own_address("", host, error);
    ASSERT_TRUE(own) << host;
    EXPECT_TRUE(*own == address_of("127.0.0.1") || *own == address_of("::1")) << to_string(*own);
  }
}

/// A node may resolve its own name to the loopback address, where other nodes cannot reach it.
TEST(OwnAddress, IsNotTheLoopbackIfTheHostHasAName) {
  std::string error;
  const auto usual = find_own_address("", "", error);
  ASSERT_TRUE(usual);
  if (*usual == address_of("127.0.0.1")) GTEST_SKIP() << "there is no network";
  std::array<char, 256> name{};
  ASSERT_EQ(gethostname(name.data(), name.size() - 1), 0);
  if (std::string_view(name.data()).find("localhost") != std::string_view::npos) GTEST_SKIP() << name.data();
  const auto own = find_own_address("", name.data(), error);
  ASSERT_TRUE(own);
  EXPECT_NE(*own, address_of("127.0.0.1"));
  EXPECT_NE(*own, address_of("::1"));
}

/// On any network, a rank can listen at its own address.
TEST(OwnAddress, CanBeListenedAt) {
  for (const char* host : {"", "198.51.100.1", "no such host"}) {
    std::string error;
    auto own = find_own_address("", host, error);
    ASSERT_TRUE(own) << host;
    EXPECT_EQ(own->port, 0);
    EXPECT_TRUE(listen_at(*own)) << to_string(*own);
  }
}

TEST(Ports, AreReadAsMpiLibrariesTakeThem) {
  EXPECT_EQ(parse_port_range("10000:10099"), (PortRange{10000, 10099}));
  EXPECT_EQ(parse_port_range("10000-10000"), (PortRange{10000, 10000}));
  for (const char* text : {"", "10000", "0-0", "0:10", "20:10", "10:65536", "a:b", "10:", "1:2:3"})
    EXPECT_FALSE(parse_port_range(text)) << text;
}

TEST(Ports, AreThoseThatTheUserHasGivenTheLibrary) {
  EXPECT_FALSE(find_ports_of_library(4));
  setenv("OMPI_MCA_btl_tcp_port_min_v4", "30000", 1);
  EXPECT_EQ(find_ports_of_library(4)->range, (PortRange{30000, 65535}));
  EXPECT_FALSE(find_ports_of_library(6));
  setenv("OMPI_MCA_btl_tcp_port_range_v4", "10", 1);
  EXPECT_EQ(find_ports_of_library(4)->range, (PortRange{30000, 30009}));
  setenv("MPICH_PORT_RANGE", "40000:40001", 1);
  EXPECT_EQ(find_ports_of_library(4)->variable, "MPICH_PORT_RANGE");
  for (const char* name :
       {"OMPI_MCA_btl_tcp_port_min_v4", "OMPI_MCA_btl_tcp_port_range_v4", "MPICH_PORT_RANGE"})
    unsetenv(name);
}

TEST(Ports, AreTakenUntilNoneIsFree) {
  constexpr int most_attempts = 100;
  for (int attempt = 1;; ++attempt) {
    Address first = address_of("127.0.0.1");
    const Socket any = listen_at(first);
    const PortRange two{.first = first.port, .last = static_cast<std::uint16_t>(first.port + 1)};
    Address second = address_of("127.0.0.1");
    Socket other;
    try {
      other = listen_at_one_of(two, 0, second);
    } catch (const std::system_error&) {
      // Another process has the second port.
      ASSERT_LT(attempt, most_attempts);
      continue;
    }
    EXPECT_EQ(second.port, first.port + 1);
    Address third = address_of("127.0.0.1");
    EXPECT_THROW(listen_at_one_of(two, 7, third), std::system_error);
    return;
  }
}

}  // namespace
}  // namespace stretto
