// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stretto {

/// The binary interfaces of MPI: that of Open MPI, that of MPICH and Intel MPI, and the standard ABI (MPI 5).
/// A program is built for one of them.
enum class Interface : std::uint8_t { openmpi, mpich, abi };
constexpr std::array interfaces{Interface::openmpi, Interface::mpich, Interface::abi};

/// Returns the name that STRETTO_INTERFACES (CMake) and the arguments of the measuring program use.
constexpr std::string_view name_of(Interface interface) {
  constexpr std::array<std::string_view, interfaces.size()> names{"openmpi", "mpich", "abi"};
  return names.at(static_cast<std::size_t>(interface));
}

/// Returns the interface of an MPI library by the name of its file with the version, such as libmpi.so.12;
/// nothing for any other file.
constexpr std::optional<Interface> interface_of_file(std::string_view name) {
  if (name.starts_with("libmpi_abi.so")) return Interface::abi;
  if (name.starts_with("libmpi.so.12") || name.starts_with("libmpich.so")) return Interface::mpich;
  if (name.starts_with("libmpi.so.")) return Interface::openmpi;
  return std::nullopt;
}

}  // namespace stretto
