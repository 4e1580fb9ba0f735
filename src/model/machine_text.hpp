// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "model/machine.hpp"

namespace stretto {

/// Reads the text of a machine file (docs/formats.md). Throws FormatError with one line that names what is
/// wrong and where.
Machine parse_machine(std::string_view text);

}  // namespace stretto
