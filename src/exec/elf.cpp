// SPDX-License-Identifier: Apache-2.0
#include "exec/elf.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <span>
#include <string_view>

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

  /// Returns nothing if the file does not hold all of it.
  template <typename T>
  [[nodiscard]] std::optional<T> read(std::size_t offset) const {
    T result;
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    std::memcpy(&result, bytes_.data() + offset, sizeof(T));
    return result;
  }
  /// Returns the text up to a zero; empty if there is none.
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

/// Where in the file an address of the program lies.
std::optional<std::size_t> offset_of(std::span<const Elf64_Phdr> segments, Elf64_Addr address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

std::vector<std::string> read_needed(const File& file, std::span<const Elf64_Phdr> segments,
                                     const Elf64_Phdr& dynamic) {
  std::vector<Elf64_Xword> names;
  std::optional<std::size_t> strings;
  for (std::size_t at = dynamic.p_offset; at < dynamic.p_offset + dynamic.p_filesz; at += sizeof(Elf64_Dyn)) {
    const auto entry = file.read<Elf64_Dyn>(at);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED) names.push_back(entry->d_un.d_val);
    if (entry->d_tag == DT_STRTAB) strings = offset_of(segments, entry->d_un.d_ptr);
  }
  std::vector<std::string> needed;
  for (const Elf64_Xword name : names) {
    if (strings) needed.emplace_back(file.text(*strings + name));
  }
  return needed;
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
  const std::vector<Elf64_Phdr> segments = read_segments(file, *header);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) facts.loader = file.text(segment.p_offset);
    if (segment.p_type == PT_DYNAMIC) facts.needed = read_needed(file, segments, segment);
  }
  return facts;
}

}  // namespace stretto
