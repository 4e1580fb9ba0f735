// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "select/spec.hpp"

namespace stretto {

/// What the environment says. Rank 0's is the one that counts: it reads, the others are sent `text` and parse
/// it.
struct Settings {
  bool disabled = false;
  bool strict = false;
  std::string statistics_file;    // empty: none
  std::optional<Spec> allreduce;  // empty: the built-in rule
  /// One line for each thing that could not be read, naming it and what would be right.
  std::vector<std::string> complaints;
};

/// The STRETTO_ variables of this process as lines NAME=value, in alphabetical order.
std::string settings_text();

Settings parse_settings(const std::string& text);

}  // namespace stretto
