// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "text/hash.hpp"

namespace stretto {

/// Returns a text that identifies the running kernel, whatever its host name; empty if the kernel gives none.
inline std::string boot_id() {
  std::string id;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, id);
  return id;
}

/// Returns a number that is the same in all processes that run under one kernel; 0 if the kernel gives none.
inline std::uint64_t kernel_number() {
  const std::string id = boot_id();
  return id.empty() ? 0 : hash_of(id);
}

}  // namespace stretto
