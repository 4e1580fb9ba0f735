// SPDX-License-Identifier: Apache-2.0
// Shared by the fuzz targets. With libFuzzer (-D STRETTO_BUILD_FUZZERS=ON, CONTRIBUTING.md):
//   build/fuzz/tests/fuzz/fuzz-table -dict=tests/fuzz/table.dict NEW_FOLDER tests/fuzz/corpus/table
// The tests only read the corpus (replay.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "text/json_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace stretto::fuzz {

/// Ends the process, which libFuzzer reports as a find.
inline void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

/// Calls `read(text)`. If that fails, it must throw a FormatError of one short line.
template <typename Read>
void read_or_refuse(const std::uint8_t* data, std::size_t size, const Read& read) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const FormatError& error) {
    const std::string_view line = error.what();
    demand(!line.empty() && line.size() < 2000, "an error is short");
    demand(line.find('\n') == std::string_view::npos, "an error is one line");
  }
}

}  // namespace stretto::fuzz
