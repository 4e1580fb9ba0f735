// SPDX-License-Identifier: Apache-2.0
// Needs no C++ library, since src/front has none.
#pragma once

#include <elf.h>

#include "elf/bytes.hpp"

namespace stretto {

/// Whether a table of symbols has a function that is in the file.
inline bool defines(const FileBytes& file, const Elf64_Shdr& table, std::size_t names,
                    std::string_view function) {
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = file.read<Elf64_Sym>(table.sh_offset + at);
    if (!symbol) return false;
    const bool is_function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
    if (is_function && file.text(names + symbol->st_name) == function) return true;
  }
  return false;
}

/// Whether an MPI library is linked into the file, as far as its symbols tell. They may have been removed
/// (strip). The function reads all symbols.
inline bool has_mpi_inside(const char* path) {
  const FileBytes file(path);
  const auto header = file.read<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
  const auto section = [&](std::size_t index) {
    return file.read<Elf64_Shdr>(header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  for (std::size_t i = 0; i < header->e_shnum; ++i) {
    const auto table = section(i);
    if (!table) return false;
    if (table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM) continue;
    const auto names = section(table->sh_link);
    // A tool has MPI_Init, but no PMPI_Init.
    if (names && defines(file, *table, names->sh_offset, "PMPI_Init")) return true;
  }
  return false;
}

}  // namespace stretto
