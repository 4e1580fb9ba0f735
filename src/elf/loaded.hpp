// SPDX-License-Identifier: Apache-2.0
// Looks names up in a loaded object, without a C library.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace stretto {

constexpr bool starts_with(const char* text, const char* beginning) {
  for (; *beginning != '\0'; ++text, ++beginning) {
    if (*text != *beginning) return false;
  }
  return true;
}

constexpr bool is_equal(const char* one, const char* other) {
  for (; *one != '\0' && *one == *other; ++one, ++other) {
  }
  return *one == *other;
}

/// Returns the name of a file without its folder.
constexpr const char* base_name(const char* path) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}

/// The functions and variables of a loaded object, by its hash table in GNU's form.
class Symbols {
 public:
  constexpr Symbols() = default;
  explicit Symbols(const link_map& object) : Symbols(object.l_addr, object.l_ld) {}
  /// `dynamic` is the dynamic section of the object that begins at `base`.
  Symbols(std::uintptr_t base, const ElfW(Dyn) * dynamic) : base_(base) {
    for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_SYMTAB) symbols_ = at<ElfW(Sym)>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_STRTAB) names_ = at<char>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_GNU_HASH) hashes_ = at<std::uint32_t>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_RELA) addresses_ = at<ElfW(Rela)>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_RELASZ) address_count_ = entry->d_un.d_val / sizeof(ElfW(Rela));
      if (entry->d_tag == DT_RELACOUNT) relative_count_ = entry->d_un.d_val;
    }
  }

  /// Returns the text at `offset` in the object's table of texts.
  [[nodiscard]] const char* text(std::uintptr_t offset) const {
    return names_ == nullptr ? "" : names_ + offset;
  }

  /// Calls use(name, address) for each name whose address the object holds, except for usual calls. The
  /// address may be in a table, in a variable, or serve calls that were compiled with -fno-plt. Stops if
  /// use() returns false. Returns whether it never did.
  template <typename Use>
  bool for_each_address(const Use& use) const {
    if (symbols_ == nullptr || names_ == nullptr || addresses_ == nullptr) return true;
    // Addresses without a name come first.
    for (std::size_t i = relative_count_; i < address_count_; ++i) {
      const ElfW(Rela)& address = addresses_[i];
      const std::size_t symbol = ELF64_R_SYM(address.r_info);
      const bool is_for_calls = ELF64_R_TYPE(address.r_info) == type_for_calls;
      if (symbol == 0 || is_for_calls) continue;
      const auto* const place = reinterpret_cast<const std::uintptr_t*>(base_ + address.r_offset);
      if (!use(names_ + symbols_[symbol].st_name, *place)) return false;
    }
    return true;
  }

  /// Returns the symbols that the object defines, from the first to the end; none if there is no hash table.
  /// They may be changed if their pages may be written to.
  struct Range {
    ElfW(Sym) * first = nullptr;
    ElfW(Sym) * last = nullptr;
    [[nodiscard]] ElfW(Sym) * begin() const { return first; }
    [[nodiscard]] ElfW(Sym) * end() const { return last; }
  };
  [[nodiscard]] Range defined() const {
    if (symbols_ == nullptr || hashes_ == nullptr) return {};
    const std::uint32_t buckets = hashes_[0];
    const std::uint32_t first = hashes_[1];
    const std::uint32_t* chain = buckets_of_hashes() + buckets;
    std::uint32_t end = first;
    for (std::uint32_t i = 0; i < buckets; ++i) {
      std::uint32_t index = buckets_of_hashes()[i];
      if (index < end) continue;
      while ((chain[index - first] & 1U) == 0) ++index;
      end = index + 1;
    }
    auto* const symbols = const_cast<ElfW(Sym)*>(symbols_);
    return {symbols + first, symbols + end};
  }

  /// Returns the address of a function or variable that the object defines; 0 if it defines none of this
  /// name. A local symbol is none.
  [[nodiscard]] std::uintptr_t find(const char* name) const {
    if (symbols_ == nullptr || names_ == nullptr || hashes_ == nullptr) return 0;
    const std::uint32_t buckets = hashes_[0];
    const std::uint32_t first = hashes_[1];
    const std::uint32_t* bucket = buckets_of_hashes();
    const std::uint32_t* chain = bucket + buckets;
    const std::uint32_t hash = hash_of(name);
    std::uint32_t index = buckets == 0 ? 0 : bucket[hash % buckets];
    if (index < first) return 0;
    for (;; ++index) {
      const std::uint32_t entry = chain[index - first];
      if ((entry | 1U) == (hash | 1U) && is_equal(names_ + symbols_[index].st_name, name)) {
        return address_of(symbols_[index]);
      }
      if ((entry & 1U) != 0) return 0;  // the last one with this hash
    }
  }

 private:
  [[nodiscard]] const std::uint32_t* buckets_of_hashes() const {
    return hashes_ + 4 + hashes_[2] * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  }

  static std::uint32_t hash_of(const char* name) {
    std::uint32_t hash = 5381;
    for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
  }

  template <typename T>
  const T* at(std::uintptr_t place) const {
    // glibc has relocated the addresses of the dynamic section on most processors, but not on all.
    return reinterpret_cast<const T*>(place < base_ ? base_ + place : place);
  }

  [[nodiscard]] std::uintptr_t address_of(const ElfW(Sym) & symbol) const {
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) return 0;
    const std::uintptr_t address = base_ + symbol.st_value;
    switch (symbol.st_info & 0xf) {
      case STT_FUNC:
      case STT_OBJECT:
        return address;
      case STT_GNU_IFUNC:
        return reinterpret_cast<std::uintptr_t (*)()>(address)();
      default:
        return 0;
    }
  }

#if defined(__aarch64__)
  static constexpr unsigned type_for_calls = R_AARCH64_JUMP_SLOT;
#else
  static constexpr unsigned type_for_calls = R_X86_64_JUMP_SLOT;
#endif

  std::uintptr_t base_ = 0;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  const std::uint32_t* hashes_ = nullptr;
  const ElfW(Rela) * addresses_ = nullptr;
  std::size_t address_count_ = 0;
  std::size_t relative_count_ = 0;
};

}  // namespace stretto
