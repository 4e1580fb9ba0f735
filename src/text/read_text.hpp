// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <istream>
#include <string>

namespace stretto {

/// Returns the content of a stream, but at most `most` bytes. Takes at most twice as much memory as it
/// returns, because most files are short.
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
