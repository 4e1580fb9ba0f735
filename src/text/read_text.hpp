// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <istream>
#include <string>

namespace stretto {

/// Returns what a stream holds, but at most so many bytes. Takes no more memory than it returns, or twice as
/// much: most files are short.
inline std::string read_text(std::istream& stream, std::size_t most) {
  constexpr std::size_t piece = 16384;
  std::string text;
  while (stream && text.size() < most) {
    const std::size_t before = text.size();
    text.resize(std::min(before + std::max(piece, before), most));
    stream.read(text.data() + before, static_cast<std::streamsize>(text.size() - before));
    text.resize(before + static_cast<std::size_t>(stream.gcount()));
  }
  return text;
}

}  // namespace stretto
