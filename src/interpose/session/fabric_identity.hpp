// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "learn/fabrics/fabric.hpp"

namespace stretto {

/// Returns by what this process knows again the network that it is on. Every text is one line of valid
/// letters.
FabricIdentity find_identity();

}  // namespace stretto
