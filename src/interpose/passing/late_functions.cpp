// SPDX-License-Identifier: Apache-2.0
// Hides functions from libraries that are loaded later if the process's own MPI library lacks them.
//
// A weak reference to MPI_Allreduce_c tells mpi4py's wheel whether the MPI library has large counts. It is
// resolved when the wheel's module is opened, and Stretto, which comes first, must only be found if the
// process's MPI library has that function. ELF has a kind of symbol for this: an indirect function (IFUNC),
// for which the linker calls a function that returns the address. But libraries that are there from the start
// and bind at once (-z now) refer to Stretto's symbols before Stretto is relocated, and the linker then warns
// about each indirect function. So these symbols are plain functions until the process has started. Then
// their entries in this object's table of symbols, in memory, become indirect.
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "interpose/passing/entry.hpp"

// The linker defines these symbols: the ends of the section that has the records, and the beginning of this
// object.
#define STRETTO_OF_LINKER(name) __asm__(name) __attribute__((visibility("hidden")))
extern "C" __attribute__((weak))
const stretto::LateFunction first_late_function[] STRETTO_OF_LINKER("__start_stretto_late");
extern "C" __attribute__((weak))
const stretto::LateFunction end_of_late_functions[] STRETTO_OF_LINKER("__stop_stretto_late");
extern "C" const ElfW(Ehdr) elf_header STRETTO_OF_LINKER("__ehdr_start");

namespace stretto {
namespace {

/// Returns the address of this object in memory.
std::uintptr_t base() {
  return reinterpret_cast<std::uintptr_t>(&elf_header);
}

template <typename T>
T* at(std::uintptr_t place) {
  // glibc has relocated the addresses of the dynamic section on most processors, but not on all.
  return reinterpret_cast<T*>(place < base() ? base() + place : place);
}

std::span<const ElfW(Phdr)> segments() {
  return {reinterpret_cast<const ElfW(Phdr)*>(base() + elf_header.e_phoff), elf_header.e_phnum};
}

/// Returns the number of symbols in a table, by its hash table in GNU's form.
std::size_t count_symbols(const std::uint32_t* table) {
  const std::uint32_t buckets = table[0];
  const std::uint32_t first = table[1];
  const std::uint32_t* bucket = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* chain = bucket + buckets;
  std::uint32_t last = *std::max_element(bucket, bucket + buckets);
  if (last < first) return first;
  while ((chain[last - first] & 1U) == 0) ++last;
  return last + 1;
}

/// Returns the symbols of this object; none if they are not found, or are among code.
std::span<ElfW(Sym)> own_symbols() {
  ElfW(Sym)* symbols = nullptr;
  const std::uint32_t* hashes = nullptr;
  for (const ElfW(Phdr) & segment : segments()) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (const auto* entry = at<const ElfW(Dyn)>(segment.p_vaddr); entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_SYMTAB) symbols = at<ElfW(Sym)>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_GNU_HASH) hashes = at<const std::uint32_t>(entry->d_un.d_ptr);
    }
  }
  if (symbols == nullptr || hashes == nullptr) return {};
  const auto place = reinterpret_cast<std::uintptr_t>(symbols) - base();
  for (const ElfW(Phdr) & segment : segments()) {
    const bool is_in = segment.p_type == PT_LOAD && place - segment.p_vaddr < segment.p_memsz;
    if (is_in && (segment.p_flags & PF_X) != 0) return {};
  }
  return {symbols, count_symbols(hashes)};
}

/// Allows or forbids writing to the pages of the symbols.
bool protect(std::span<ElfW(Sym)> symbols, int protection) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(symbols.data()) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(symbols.data() + symbols.size());
  return mprotect(reinterpret_cast<void*>(begin), end - begin, protection) == 0;
}

/// Runs when all libraries that are there from the start are bound.
__attribute__((constructor)) void make_late_functions() {
  std::vector<LateFunction> functions(first_late_function, end_of_late_functions);
  const std::span<ElfW(Sym)> symbols = functions.empty() ? std::span<ElfW(Sym)>() : own_symbols();
  if (symbols.empty() || !protect(symbols, PROT_READ | PROT_WRITE)) return;
  std::ranges::sort(functions, {}, &LateFunction::function);
  for (ElfW(Sym) & symbol : symbols) {
    if (symbol.st_shndx == SHN_UNDEF) continue;
    auto* const address = reinterpret_cast<void*>(base() + symbol.st_value);
    const auto found = std::ranges::lower_bound(functions, address, {}, &LateFunction::function);
    if (found == functions.end() || found->function != address) continue;
    symbol.st_value = reinterpret_cast<std::uintptr_t>(found->find) - base();
    symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(ELF64_ST_BIND(symbol.st_info), STT_GNU_IFUNC));
  }
  protect(symbols, PROT_READ);
}

}  // namespace
}  // namespace stretto
