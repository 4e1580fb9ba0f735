// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace stretto {

/// Replaces a whole file, or creates it. `write` writes into a file beside it, under a name that nobody can
/// foresee, until that is complete. Writes into a device or a pipe directly. Follows links, except those of
/// another user, who could choose which of our files is lost. Returns why that failed, or "" if it did not.
std::string replace_file(const std::string& path, const std::function<void(std::ostream&)>& write);
std::string replace_file(const std::string& path, const std::string& text);

/// Returns why replace_file() would fail, as far as that can be known beforehand, or "".
std::string find_obstacle(const std::string& path);

}  // namespace stretto
