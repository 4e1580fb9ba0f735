// SPDX-License-Identifier: Apache-2.0
#include "elf/file.hpp"

#include <elf.h>

#include <array>
#include <cstring>
#include <vector>

#include "elf/bytes.hpp"

namespace stretto {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half this_machine = EM_AARCH64;
#else
constexpr Elf64_Half this_machine = EM_NONE;
#endif

std::vector<Elf64_Phdr> read_segments(const FileBytes& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = file.read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) break;
    segments.push_back(*segment);
  }
  return segments;
}

}  // namespace

std::optional<ElfFacts> read_elf(const std::string& path) {
  const FileBytes file(path.c_str());
  const auto mark = file.read<std::array<char, SELFMAG>>(0);
  if (!mark || std::memcmp(mark->data(), ELFMAG, SELFMAG) != 0) return std::nullopt;
  const auto header = file.read<Elf64_Ehdr>(0);
  ElfFacts facts;
  facts.is_of_this_machine = header && header->e_ident[EI_CLASS] == ELFCLASS64 &&
                             header->e_ident[EI_DATA] == ELFDATA2LSB && header->e_machine == this_machine;
  if (!facts.is_of_this_machine) return facts;
  for (const Elf64_Phdr& segment : read_segments(file, *header)) {
    if (segment.p_type == PT_INTERP) facts.loader = file.text(segment.p_offset);
  }
  return facts;
}

}  // namespace stretto
