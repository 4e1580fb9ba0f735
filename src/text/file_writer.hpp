// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stretto {

/// Replaces a whole file, or creates it. Writes into a device or a pipe; follows a link. Returns why that
/// failed; empty if it did not.
std::string replace_file(const std::string& path, const std::string& text);

/// Why replace_file would fail, as far as that is known beforehand; empty if nothing is known.
std::string find_obstacle(const std::string& path);

}  // namespace stretto
