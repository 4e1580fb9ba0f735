// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "text/hash.hpp"

namespace stretto {

/// Returns what tells the running kernel from any other, whatever its host name; empty if it does not say.
inline std::string boot_id() {
  std::string id;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, id);
  return id;
}

/// Returns a number that is the same in all processes that run under one kernel; 0 if it does not say.
inline std::uint64_t kernel_number() {
  const std::string id = boot_id();
  return id.empty() ? 0 : hash_of(id);
}

}  // namespace stretto
