// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace stretto {

/// The facts about how a program is loaded, from its file.
struct ElfFacts {
  bool is_of_this_machine = false;  // 64 bits, and the same processor
  std::string loader;               // the program that loads it; empty: it is linked statically
};

/// Returns nothing if the file is not an ELF file. A damaged file is never one of this machine.
std::optional<ElfFacts> read_elf(const std::string& path);

}  // namespace stretto
