// SPDX-License-Identifier: Apache-2.0
#include "sockets/address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <system_error>

namespace stretto {
namespace {

using InterfaceList = std::unique_ptr<ifaddrs, decltype(&freeifaddrs)>;

Address from_system(const sockaddr* system) {
  Address address;
  if (system == nullptr) return address;
  if (system->sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, system, sizeof(four));
    address.family = 4;
    address.port = ntohs(four.sin_port);
    std::memcpy(address.ip.data(), &four.sin_addr, sizeof(four.sin_addr));
  } else if (system->sa_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, system, sizeof(six));
    address.family = 6;
    address.port = ntohs(six.sin6_port);
    address.scope = six.sin6_scope_id;
    std::memcpy(address.ip.data(), &six.sin6_addr, sizeof(six.sin6_addr));
  }
  return address;
}

/// Returns the node's interfaces, or an empty list if the system does not name them.
InterfaceList find_interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) list = nullptr;
  return {list, &freeifaddrs};
}

/// Returns an interface's address. IPv4 comes before IPv6, as in other libraries.
std::optional<Address> address_of_interface(const ifaddrs* all, std::string_view name) {
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      if (name == one->ifa_name && one->ifa_addr != nullptr && one->ifa_addr->sa_family == family)
        return from_system(one->ifa_addr);
    }
  }
  return std::nullopt;
}

/// Returns the addresses of those of the interfaces, names separated by commas, that have one.
std::vector<Address> addresses_of(std::string_view interfaces) {
  const InterfaceList all = find_interfaces();
  std::vector<Address> found;
  while (!interfaces.empty()) {
    const std::string_view name = interfaces.substr(0, interfaces.find(','));
    interfaces.remove_prefix(std::min(name.size() + 1, interfaces.size()));
    if (const auto own = address_of_interface(all.get(), name)) found.push_back(*own);
  }
  return found;
}

/// Returns this node's end of the route to an address. Nothing is sent.
std::optional<Address> own_end_of_route(const sockaddr* to, socklen_t length) {
  const Socket probe(socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP));
  if (!probe || connect(probe.file(), to, length) != 0) return std::nullopt;
  SystemAddress own;
  if (getsockname(probe.file(), own.get(), &own.length) != 0) return std::nullopt;
  Address address = own.address();
  address.port = 0;
  return address;
}

std::optional<Address> own_end_of_route(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, &freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (const auto own = own_end_of_route(one->ai_addr, one->ai_addrlen)) return own;
  }
  return std::nullopt;
}

bool is_loopback(const Address& address) {
  if (address.family == 4) return address.ip[0] == std::byte{127};
  std::array<std::byte, 16> one{};
  one.back() = std::byte{1};
  return address.ip == one;
}

/// Whether `host` stands for the loopback on purpose. A node often resolves its own name to the loopback,
/// where other nodes cannot reach it.
bool means_loopback(const std::string& host) {
  in6_addr ip{};
  return host.find("localhost") != std::string::npos || inet_pton(AF_INET, host.c_str(), &ip) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &ip) == 1;
}

}  // namespace

SystemAddress::SystemAddress(const Address& address) {
  if (address.family == 4) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(address.port);
    std::memcpy(&four.sin_addr, address.ip.data(), sizeof(four.sin_addr));
    std::memcpy(&storage, &four, length = sizeof(four));
  } else {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(address.port);
    six.sin6_scope_id = address.scope;
    std::memcpy(&six.sin6_addr, address.ip.data(), sizeof(six.sin6_addr));
    std::memcpy(&storage, &six, length = sizeof(six));
  }
}

Address SystemAddress::address() const {
  return from_system(reinterpret_cast<const sockaddr*>(&storage));
}

std::string to_string(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(address.family == 4 ? AF_INET : AF_INET6, address.ip.data(), text.data(), text.size());
  const std::string ip = text.data();
  return (address.family == 4 ? ip : "[" + ip + "]") + ":" + std::to_string(address.port);
}

std::optional<Address> find_own_address(const std::string& interfaces, const std::string& host,
                                        std::string& error) {
  if (!interfaces.empty()) {
    const std::vector<Address> named = addresses_of(interfaces);
    if (!named.empty()) return named.front();
    error = "this node has no interface " + interfaces + " with an address";
    return std::nullopt;
  }
  if (!host.empty()) {
    const auto own = own_end_of_route(host);
    if (own && (!is_loopback(*own) || means_loopback(host))) return own;
  }
  const InterfaceList all = find_interfaces();
  // An address for documentation (RFC 5737), of which only the route matters.
  if (const auto own = own_end_of_route("192.0.2.1")) return own;
  for (const ifaddrs* one = all.get(); one != nullptr; one = one->ifa_next) {
    const auto own = std::string_view(one->ifa_name) == "lo" ? std::nullopt
                                                             : address_of_interface(all.get(), one->ifa_name);
    if (own) return own;
  }
  return own_end_of_route("127.0.0.1");
}

std::vector<Address> find_further_addresses(const std::string& interfaces) {
  std::vector<Address> found = addresses_of(interfaces);
  if (!found.empty()) found.erase(found.begin());
  return found;
}

bool is_address_in_order(const Address& address) {
  const InterfaceList all = find_interfaces();
  constexpr unsigned in_order = IFF_UP | IFF_RUNNING;
  for (const ifaddrs* one = all.get(); one != nullptr; one = one->ifa_next) {
    const Address found = from_system(one->ifa_addr);
    if (found.family == address.family && found.ip == address.ip && (one->ifa_flags & in_order) == in_order)
      return true;
  }
  return false;
}

std::vector<Address> find_all_addresses(std::size_t most) {
  const InterfaceList all = find_interfaces();
  std::vector<Address> found;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = all.get(); one != nullptr && found.size() < most; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family || (one->ifa_flags & IFF_UP) == 0)
        continue;
      const Address address = from_system(one->ifa_addr);
      if (!is_loopback(address) && address.scope == 0) found.push_back(address);
    }
  }
  return found;
}

std::optional<Address> find_own_address_towards(const Address& other) {
  SystemAddress to(other);
  const auto own = own_end_of_route(to.get(), to.length);
  return own && !is_loopback(*own) ? own : std::nullopt;
}

Socket listen_at(Address& address) {
  const auto fail = [](const char* what) { throw std::system_error(errno, std::generic_category(), what); };
  Socket listener(
      socket(address.family == 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) fail("socket");
  SystemAddress system(address);
  if (bind(listener.file(), system.get(), system.length) != 0) fail("bind");
  constexpr int backlog = 4096;
  if (listen(listener.file(), backlog) != 0) fail("listen");
  system.length = sizeof(system.storage);
  if (getsockname(listener.file(), system.get(), &system.length) != 0) fail("getsockname");
  address.port = system.address().port;
  return listener;
}

}  // namespace stretto
