// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "schedule/schedule.hpp"
#include "schedule/topology.hpp"

namespace stretto {

enum class Collective : std::uint8_t { allreduce };

std::string_view name_of(Collective collective);

/// One algorithm of one collective. The command line, the tests, the documentation and the choice all derive
/// from the table of these; to add one, write its file and its row (CONTRIBUTING.md).
struct Algorithm {
  Collective collective;
  std::string_view name;
  std::string_view description;
  /// The schedule of one rank: a pure function, the same code for every message size.
  Schedule (*build)(const Topology& topology, int rank);
  /// Whether every result is a0 op a1 op … in rank order, as operations that do not commute need. Proven in
  /// the tests.
  bool (*keeps_order)(const Topology& topology);
};

std::span<const Algorithm> algorithms();

/// nullptr if there is none of that name.
const Algorithm* find_algorithm(Collective collective, std::string_view name);

}  // namespace stretto
