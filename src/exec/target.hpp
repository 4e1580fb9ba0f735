// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "elf/file.hpp"

namespace stretto {

/// The program that a command starts.
struct Target {
  std::string path;
  int error = 0;  // an errno if it cannot be started
  /// The file that the kernel loads in the end: of a script, its interpreter.
  std::string binary;
  std::optional<ElfFacts> elf;  // of that file
};

/// Finds a program as a shell does: in PATH, unless its name has a slash.
Target find_target(const std::string& name);

/// Returns whether a shell may read the file as a script: shells refuse one whose first line has a zero byte,
/// since what they would find in a damaged program are commands, too.
bool may_be_script(const std::string& path);

/// Returns why no library can be preloaded into the program; empty if one can.
std::string find_obstacle(const Target& target);

}  // namespace stretto
