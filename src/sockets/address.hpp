// SPDX-License-Identifier: Apache-2.0
// The address at which a rank listens, and the interface of a node that leads to the other ranks.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sockets/socket.hpp"

namespace stretto {

/// An address of IPv4 or IPv6 with a port, as ranks send it to each other.
struct Address {
  std::uint16_t family = 0;  // 4 or 6; 0: none
  std::uint16_t port = 0;
  std::uint32_t scope = 0;  // of a link-local address: this node's own number for the interface
  std::array<std::byte, 16> ip{};

  friend bool operator==(const Address&, const Address&) = default;
};
static_assert(sizeof(Address) == 24);

/// An address in the system's form.
struct SystemAddress {
  explicit SystemAddress(const Address& address);
  SystemAddress() = default;
  [[nodiscard]] Address address() const;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }

  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);
};

/// Returns "10.0.0.1:4567" or "[fe80::1]:4567".
std::string to_string(const Address& address);

/// Returns the address, without a port, at which the other ranks reach this one. It is that of the first of
/// `interfaces` (names separated by commas) that has one. If `interfaces` is empty, it is the address from
/// which `host` is reached, or else the one from which the rest of the world is reached. It may be the
/// loopback if there is no network, or if `host` is called localhost or is a numeric address. Returns nothing
/// if no named interface has an address: `error` is one line then.
std::optional<Address> find_own_address(const std::string& interfaces, const std::string& host,
                                        std::string& error);

/// Returns the addresses of the others of these interfaces that have one, in order.
std::vector<Address> find_further_addresses(const std::string& interfaces);

/// Whether a link of this node that is up has this address.
bool is_address_in_order(const Address& address);

/// Returns the addresses of this node except those of the loopback and of single links: `most` at most.
std::vector<Address> find_all_addresses(std::size_t most);

/// Returns the address from which this node reaches another one; nothing if it does so by the loopback or not
/// at all.
std::optional<Address> find_own_address_towards(const Address& other);

/// Listens at this address, at a free port, which is written to `address`. Throws std::system_error.
Socket listen_at(Address& address);

}  // namespace stretto
