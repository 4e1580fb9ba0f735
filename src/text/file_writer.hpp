// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stretto {

/// Replaces a file as a whole, or makes one. A device or a pipe is written to as it is, and a link stays one.
/// Returns why it could not be done, or an empty line.
std::string replace_file(const std::string& path, const std::string& text);

/// Why replace_file could not do so, as far as that is known beforehand; an empty line: nothing is in the
/// way.
std::string find_obstacle(const std::string& path);

}  // namespace stretto
