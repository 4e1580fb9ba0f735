// SPDX-License-Identifier: Apache-2.0
#include "threads/core_time.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace stretto {

CoreTime CoreTime::of_this_thread() {
  // The file is not kept open, because the program might close it.
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 80> text{};
  const bool is_read = read(file, text.data(), text.size() - 1) > 0;
  close(file);
  std::int64_t ran = 0;
  std::int64_t waited = 0;
  if (!is_read || std::sscanf(text.data(), "%" SCNd64 " %" SCNd64, &ran, &waited) != 2) return {};
  return {.ran = static_cast<double>(ran) * 1e-9, .waited = static_cast<double>(waited) * 1e-9};
}

}  // namespace stretto
