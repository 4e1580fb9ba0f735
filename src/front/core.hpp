// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stretto {

/// Returns the handle of libstretto-core.so, which lies beside this library, and loads it if need be. Returns
/// nullptr if it cannot be loaded; one line has told so.
void* load_core();
/// Whether the core is loaded.
bool is_core_loaded();

}  // namespace stretto
