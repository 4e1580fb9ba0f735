// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "learn/fabrics/fabric.hpp"

namespace stretto {

/// Returns the properties by which later jobs recognize the network of this process. Every text is one line
/// without control characters.
FabricIdentity find_identity();

}  // namespace stretto
