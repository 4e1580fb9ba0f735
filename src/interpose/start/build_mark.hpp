// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// Tells the sources that this library was built of (cmake/StrettoBuildMark.cmake): `stretto build` and a
/// hash. Equal on ranks that understand each other; any change of the sources makes another one.
extern const char build_mark[];

}  // namespace stretto
