// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "model/machine.hpp"
#include "text/json_reader.hpp"

namespace stretto {

/// Reads the text of a machine file (docs/formats.md). Throws FormatError with one line that names what is
/// wrong and where.
Machine parse_machine(std::string_view text);

/// Reads the members of a machine file from an object that is a part of another file.
Machine read_machine(JsonObject& object);

/// Returns such an object, from which read_machine() makes the same machine.
nlohmann::ordered_json json_of(const Machine& machine);

}  // namespace stretto
