// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace stretto {

/// Makes static objects of functions, which are made at their first use and never destroyed. MPI_Init may run
/// before the constructors of static objects (in the constructor of a shared library), MPI_Finalize and
/// Stretto's threads after the destructors. So Stretto has neither (cmake/check_static_objects.py).
template <typename T, typename... Arguments>
T& make_immortal(Arguments&&... arguments) {
  return *new T(std::forward<Arguments>(arguments)...);
}

}  // namespace stretto
