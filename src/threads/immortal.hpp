// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// For static objects that are never destroyed: MPI_Finalize and our threads may come after the destructors
/// of static objects.
template <typename T>
T& make_immortal() {
  return *new T;
}

}  // namespace stretto
