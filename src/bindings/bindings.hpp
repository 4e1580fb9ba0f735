// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "algorithms/collective.hpp"
#include "algorithms/registry.hpp"
#include "learn/fabrics/fabric.hpp"
#include "settings/settings.hpp"
#include "topology/topology.hpp"

namespace stretto {

/// These parse arguments from Python. They throw a ValueError of one line if an argument names something that
/// does not exist.
Collective collective_named(const std::string& name);
Recipe recipe_spelled(const std::string& collective, const std::string& text);
void check_rank(const std::string& what, int rank, const Topology& topology);

/// Returns the figure; nothing if it is 0, which means that it is not known.
inline std::optional<double> if_known(double figure) {
  return figure > 0 ? std::optional(figure) : std::nullopt;
}

/// Returns the decision for calls of this many bytes on communicators of this shape.
std::optional<Decision> find_decision(const Fabric& fabric, Collective collective, std::size_t bytes,
                                      const Topology& topology, bool in_place, Form form);

using Environment = std::map<std::string, std::string>;
/// Reads the settings as rank 0 of a job does.
Settings read_settings(const Environment& environment);

void bind_claims(nanobind::module_& module);
void bind_models(nanobind::module_& module);
void bind_fabrics(nanobind::module_& module);
void bind_tables(nanobind::module_& module);
void bind_transport(nanobind::module_& module);

}  // namespace stretto
