// SPDX-License-Identifier: Apache-2.0
#include "elf/file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

namespace stretto {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half this_machine = EM_AARCH64;
#else
constexpr Elf64_Half this_machine = EM_NONE;
#endif

/// A file in memory, for reading.
class File {
 public:
  explicit File(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_size > 0) {
      void* memory =
          mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
      if (memory != MAP_FAILED) {
        bytes_ = {static_cast<const char*>(memory), static_cast<std::size_t>(status.st_size)};
      }
    }
    if (descriptor >= 0) close(descriptor);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }

  /// Returns the value at `offset`, or nothing if the file does not hold all of it.
  template <typename T>
  [[nodiscard]] std::optional<T> read(std::size_t offset) const {
    T result;
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    std::memcpy(&result, bytes_.data() + offset, sizeof(T));
    return result;
  }
  /// Returns the text from `offset` up to a zero; empty if there is no zero.
  [[nodiscard]] std::string_view text(std::size_t offset) const {
    if (offset >= bytes_.size()) return {};
    const std::string_view rest = bytes_.substr(offset);
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
  }

 private:
  std::string_view bytes_;
};

std::vector<Elf64_Phdr> read_segments(const File& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = file.read<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) break;
    segments.push_back(*segment);
  }
  return segments;
}

/// Whether a table of symbols has a function that is in the file.
bool defines(const File& file, const Elf64_Shdr& table, std::size_t names, std::string_view function) {
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = file.read<Elf64_Sym>(table.sh_offset + at);
    if (!symbol) return false;
    const bool is_function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
    if (is_function && file.text(names + symbol->st_name) == function) return true;
  }
  return false;
}

}  // namespace

std::optional<ElfFacts> read_elf(const std::string& path) {
  const File file(path);
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

bool has_mpi_inside(const std::string& path) {
  const File file(path);
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
