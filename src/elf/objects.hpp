// SPDX-License-Identifier: Apache-2.0
// Tells the MPI libraries of a process by their symbols, without a C library.
#pragma once

#include "elf/loaded.hpp"

namespace stretto {

/// The role of an object for MPI. A tool has functions MPI_X, but no PMPI_X.
enum class Kind { none, mpi_library, translates };

/// Returns the kind of an object, by the symbols by which mpi/library.cpp tells interfaces apart. Names
/// do not tell enough, because libraries have many. An object that has MPI's functions in a binary interface
/// of its own carries them out by calling another MPI library (MPItrampoline).
inline Kind kind_of(const char* name, const Symbols& symbols) {
  if (symbols.find("PMPI_Init") == 0 || symbols.find("MPI_Init") == 0) return Kind::none;
  const bool is_known = starts_with(name, "libmpi_abi.so") || symbols.find("ompi_mpi_comm_world") != 0 ||
                        symbols.find("MPIR_Err_create_code") != 0;
  return is_known ? Kind::mpi_library : Kind::translates;
}

/// Whether the name is that of libmpi itself. A language layer (libmpi_mpifh) or a tool that depends on
/// libmpi would also offer its symbols.
constexpr bool may_be_mpi(const char* name) {
  return starts_with(name, "libmpi.so") || starts_with(name, "libmpich.so") ||
         starts_with(name, "libmpi_abi.so");
}

/// Whether a name is that of a function of MPI.
constexpr bool is_of_mpi(const char* function) {
  if (*function == 'P') ++function;
  return starts_with(function, "MPI_") || starts_with(function, "MPIX_");
}

}  // namespace stretto
