// SPDX-License-Identifier: Apache-2.0
// A job that Stretto was put under, and does not serve.
#pragma once

#include <string>

namespace stretto {

/// Says why in one line and in the file of STRETTO_STATS. To be called on one rank.
void tell_unserved(const std::string& reason);

/// Whether the user wants a job to fail then (STRETTO_STRICT).
bool is_strict();

}  // namespace stretto
