// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// Identifies the sources from which this library was built (cmake/StrettoBuildMark.cmake): `stretto build`
/// and a hash. Ranks with equal marks understand each other. Any change of the sources changes the mark.
extern const char build_mark[];

}  // namespace stretto
