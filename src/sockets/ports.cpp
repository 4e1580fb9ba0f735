// SPDX-License-Identifier: Apache-2.0
#include "sockets/ports.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "text/environment.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

constexpr std::uint64_t most_port = 65535;

std::optional<PortRange> make_range(std::optional<std::uint64_t> first, std::optional<std::uint64_t> last) {
  if (!first || !last || *first == 0 || *first > *last || *last > most_port) return std::nullopt;
  return PortRange{static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
}

/// Open MPI takes the first port, and how many there are: all further ones if that is not said.
std::optional<PortRange> range_of_open_mpi(const std::string& minimum, const std::string& size) {
  const std::optional<std::uint64_t> first = parse_whole(environment(minimum.c_str()));
  if (!first) return std::nullopt;
  const std::uint64_t count = parse_whole(environment(size.c_str())).value_or(most_port);
  if (count == 0 || *first > most_port) return std::nullopt;
  return make_range(first, std::min(*first + std::min(count, most_port) - 1, most_port));
}

}  // namespace

std::optional<PortRange> parse_port_range(std::string_view text) {
  const std::size_t between = text.find_first_of(":-");
  if (between == std::string_view::npos) return std::nullopt;
  return make_range(parse_whole(text.substr(0, between)), parse_whole(text.substr(between + 1)));
}

std::optional<LibraryPorts> find_ports_of_library(int family) {
  for (const char* variable : {"I_MPI_PORT_RANGE", "MPIR_CVAR_CH3_PORT_RANGE", "MPICH_PORT_RANGE",
                               "MPICH_PORTRANGE", "UCX_TCP_PORT_RANGE"}) {
    if (const auto range = parse_port_range(environment(variable))) return LibraryPorts{variable, *range};
  }
  const std::string version = family == 6 ? "v6" : "v4";
  const std::string minimum = "OMPI_MCA_btl_tcp_port_min_" + version;
  if (const auto range = range_of_open_mpi(minimum, "OMPI_MCA_btl_tcp_port_range_" + version))
    return LibraryPorts{minimum, *range};
  return std::nullopt;
}

Socket listen_at_one_of(PortRange ports, std::size_t number, Address& address) {
  const std::size_t count = static_cast<std::size_t>(ports.last - ports.first) + 1;
  for (std::size_t i = 0;; ++i) {
    address.port = static_cast<std::uint16_t>(ports.first + (number + i) % count);
    try {
      return listen_at(address);
    } catch (const std::system_error& error) {
      const bool is_taken = error.code().value() == EADDRINUSE || error.code().value() == EACCES;
      if (!is_taken || i + 1 == count) throw;
    }
  }
}

}  // namespace stretto
