// SPDX-License-Identifier: Apache-2.0
// Hides functions that the process's MPI library lacks, in a process without an auditor (src/audit): an older
// linker, or a preload that was set by hand.
//
// Nothing tells this library when an MPI library is loaded. But ELF has indirect functions (IFUNC), for which
// the linker asks a function for the address at each look-up. Libraries that are there from the start and
// bind at once (-z now) refer to Stretto's symbols before Stretto is relocated, and the linker then warns
// about each indirect function. So the entries are plain functions until the process has started: what is
// bound then finds all of them. Then their symbols, in memory, become indirect.
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/objects.hpp"
#include "front/audited.hpp"
#include "front/entries.hpp"

volatile stretto::Audit stretto_front_audit = stretto::Audit::none;
/// The beginning of this library in memory, which the linker names.
extern "C" const char stretto_front_begin[] __asm__("__ehdr_start") STRETTO_HIDDEN;

namespace stretto {
namespace {

/// The MPI library that the process has loaded first, or else what translates into one.
struct Offered {
  Symbols library;
  Symbols translator;
  bool has_library = false;
  bool has_any = false;
};

Symbols symbols_of(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    return {object.dlpi_addr, reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + segment.p_vaddr)};
  }
  return {};
}

int look_at(dl_phdr_info* object, std::size_t /*size*/, void* data) {
  auto& offered = *static_cast<Offered*>(data);
  const char* const name = base_name(object->dlpi_name == nullptr ? "" : object->dlpi_name);
  if (starts_with(name, "libstretto")) return 0;
  const Symbols symbols = symbols_of(*object);
  const Kind kind = kind_of(name, symbols);
  if (kind == Kind::none) return 0;
  if (kind == Kind::mpi_library || !offered.has_any) {
    (kind == Kind::mpi_library ? offered.library : offered.translator) = symbols;
    offered.has_any = true;
  }
  offered.has_library = kind == Kind::mpi_library;
  return offered.has_library ? 1 : 0;
}

/// The symbols of this library.
Symbols own_symbols() {
  struct Own {
    std::uintptr_t place;
    Symbols symbols;
  } own{reinterpret_cast<std::uintptr_t>(stretto_front_entries), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t /*size*/, void* data) {
        auto& wanted = *static_cast<Own*>(data);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = object->dlpi_phdr[i];
          const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
          if (segment.p_type != PT_LOAD || wanted.place - begin >= segment.p_memsz) continue;
          wanted.symbols = symbols_of(*object);
          return 1;
        }
        return 0;
      },
      &own);
  return own.symbols;
}

/// Allows or forbids writing to the pages of the symbols.
bool protect(Symbols::Range symbols, int protection) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(symbols.begin()) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(symbols.end());
  return mprotect(reinterpret_cast<void*>(begin), end - begin, protection) == 0;
}

/// Runs when all libraries that are there from the start are bound.
__attribute__((constructor)) void make_late_functions() {
  if (stretto_front_audit != Audit::none) return;
  const Symbols::Range symbols = own_symbols().defined();
  if (symbols.begin() == symbols.end() || !protect(symbols, PROT_READ | PROT_WRITE)) return;
  const auto entries = reinterpret_cast<std::uintptr_t>(stretto_front_entries);
  const auto finders = reinterpret_cast<std::uintptr_t>(stretto_front_finders);
  const auto base = reinterpret_cast<std::uintptr_t>(stretto_front_begin);
  for (ElfW(Sym) & symbol : symbols) {
    const std::uintptr_t number = (base + symbol.st_value - entries) / entry_stride;
    if (symbol.st_shndx == SHN_UNDEF || number >= entry_count || !is_of_mpi(name_of_entry(number))) continue;
    symbol.st_value = finders + number * finder_stride - base;
    symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC));
  }
  protect(symbols, PROT_READ);
}

}  // namespace
}  // namespace stretto

void* stretto_front_find(unsigned number) {
  stretto::Offered offered;
  dl_iterate_phdr(stretto::look_at, &offered);
  const stretto::Symbols& library = offered.has_library ? offered.library : offered.translator;
  const char* const name = stretto::name_of_entry(number);
  if (library.find(name) == 0) return stretto::next_definition(name);
  return const_cast<char*>(stretto_front_entries) + number * stretto::entry_stride;
}
