// SPDX-License-Identifier: Apache-2.0
// Reports a job that runs with Stretto, but that Stretto does not serve.
#pragma once

#include <string>

namespace stretto {

/// Writes the reason in one line, and to the file of STRETTO_STATS. To be called on one rank.
void tell_unserved(const std::string& reason);

/// Whether the user wants such a job to fail (STRETTO_STRICT).
bool is_strict();

}  // namespace stretto
