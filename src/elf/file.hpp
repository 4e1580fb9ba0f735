// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace stretto {

/// What a program's file says of how it is loaded.
struct ElfFacts {
  bool is_of_this_machine = false;  // 64 bits, and the same processor
  std::string loader;               // the program that loads it; empty: it is linked statically
};

/// Returns nothing if the file is no ELF file. One that is damaged is of no machine.
std::optional<ElfFacts> read_elf(const std::string& path);

/// Whether an MPI library is linked into the file, as far as its symbols tell, which may have been removed
/// (strip). It reads all of them.
bool has_mpi_inside(const std::string& path);

}  // namespace stretto
