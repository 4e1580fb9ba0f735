// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace stretto {

/// Replaces a whole file, or creates it. What `write` writes lies beside it, under a name that nobody can
/// foresee, until it is complete. Writes into a device or a pipe directly. Follows a link, but none that
/// belongs to another user: it would say which file of ours is lost. Returns why that failed; empty if it did
/// not.
std::string replace_file(const std::string& path, const std::function<void(std::ostream&)>& write);
std::string replace_file(const std::string& path, const std::string& text);

/// Why replace_file would fail, as far as that is known beforehand; empty if nothing is known.
std::string find_obstacle(const std::string& path);

}  // namespace stretto
