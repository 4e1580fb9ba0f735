// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// Makes static objects that are never destroyed: MPI_Finalize and Stretto's threads may run after the
/// destructors of static objects.
template <typename T>
T& make_immortal() {
  return *new T;
}

}  // namespace stretto
