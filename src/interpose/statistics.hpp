// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "select/spec.hpp"

namespace stretto {

/// Counts one call of a collective (STRETTO_STATS). Thread-safe.
void record_call(Collective collective, std::size_t bytes, const Spec& spec, double seconds);

/// What this rank has counted, as JSON.
std::string statistics_text();

/// Writes it to a file. Returns one line that says why it could not, or an empty one.
std::string write_statistics(const std::string& file);

}  // namespace stretto
