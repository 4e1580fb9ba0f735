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
  /// The file that the kernel loads in the end: for a script, its interpreter.
  std::string binary;
  std::optional<ElfFacts> elf;  // of that file
};

/// Finds a program as a shell does: in PATH, unless its name has a slash.
Target find_target(const std::string& name);

/// Returns whether a shell may read the file as a script. Shells refuse a file whose first line has a zero
/// byte, because a damaged program could contain commands by accident.
bool may_be_script(const std::string& path);

/// Returns why no library can be preloaded into the program, or "" if one can.
std::string find_obstacle(const Target& target);

}  // namespace stretto
