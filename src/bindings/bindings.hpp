// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "algorithms/collective.hpp"
#include "algorithms/registry.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// These parse arguments from Python. They throw a ValueError of one line if an argument names something that
/// does not exist.
Collective collective_named(const std::string& name);
Recipe recipe_spelled(const std::string& collective, const std::string& text);
void check_rank(const std::string& what, int rank, const Topology& topology);

void bind_models(nanobind::module_& module);
void bind_fabrics(nanobind::module_& module);
void bind_tables(nanobind::module_& module);
void bind_transport(nanobind::module_& module);

}  // namespace stretto
