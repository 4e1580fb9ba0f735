// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace stretto {

void bind_tables(nanobind::module_& module);

}  // namespace stretto
