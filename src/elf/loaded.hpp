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

/// The functions and variables of a loaded object, by its hash table in GNU's form.
class Symbols {
 public:
  constexpr Symbols() = default;
  explicit Symbols(const link_map& object) : base_(object.l_addr) {
    for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
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

  /// Returns the address of a function or variable that the object defines; 0 if it defines none of this
  /// name.
  [[nodiscard]] std::uintptr_t find(const char* name) const {
    if (symbols_ == nullptr || names_ == nullptr || hashes_ == nullptr) return 0;
    const std::uint32_t buckets = hashes_[0];
    const std::uint32_t first = hashes_[1];
    const std::uint32_t* bucket = hashes_ + 4 + hashes_[2] * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
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
    if (symbol.st_shndx == SHN_UNDEF) return 0;
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
