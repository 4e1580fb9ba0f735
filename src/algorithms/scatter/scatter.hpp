// SPDX-License-Identifier: Apache-2.0
// The algorithms of scatter and scatterv: those of gather, backwards. Each is described at the top of its
// file in algorithms/gather.
#pragma once

#include <span>

#include "algorithms/registry.hpp"

namespace stretto::scatter {

std::span<const Algorithm> table();

}  // namespace stretto::scatter
