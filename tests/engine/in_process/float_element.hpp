// SPDX-License-Identifier: Apache-2.0
// Sums of floats, without an MPI library.
#pragma once

#include <cstddef>

#include "engine/data/element.hpp"

namespace stretto::test {

inline void add_floats(void* into, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    static_cast<float*>(into)[i] = static_cast<const float*>(left)[i] + static_cast<const float*>(right)[i];
}

inline Element float_sums() {
  return {
      .size = sizeof(float), .extent = sizeof(float), .true_extent = sizeof(float), .kernel = &add_floats};
}

}  // namespace stretto::test
