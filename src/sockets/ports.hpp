// SPDX-License-Identifier: Apache-2.0
// Ports on which a rank may listen, because the user has opened only these between the nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sockets/address.hpp"

namespace stretto {

struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;

  friend bool operator==(const PortRange&, const PortRange&) = default;
};

/// Reads `10000:10099` or `10000-10099`. Returns nothing for another text, and if the range is empty or holds
/// port 0.
std::optional<PortRange> parse_port_range(std::string_view text);

/// The ports that the user has given the MPI library for its own connections, and the variable that says so.
struct LibraryPorts {
  std::string variable;
  PortRange range;
};
/// Returns nothing if the user has given the library none. `family`: 4 or 6.
std::optional<LibraryPorts> find_ports_of_library(int family);

/// Listens at the address, on one of the ports, and completes the address. `number` says which port is tried
/// first, so that the ranks of a node try others. Throws std::system_error if it can listen on none.
Socket listen_at_one_of(PortRange ports, std::size_t number, Address& address);

}  // namespace stretto
