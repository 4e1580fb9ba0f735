// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "algorithms/collective.hpp"

namespace stretto {

/// The three ways in which a program calls a collective.
enum class Face : std::uint8_t { blocking, non_blocking, persistent };

inline constexpr std::array faces{Face::blocking, Face::non_blocking, Face::persistent};

struct NamedCall {
  Collective collective;
  Face face;
};

/// The name in the C interface: `allreduce`, `iallreduce`, `allreduce_init`.
std::string name_of(Collective collective, Face face);

/// Empty if there is no call of that name.
std::optional<NamedCall> find_call(std::string_view name);

}  // namespace stretto
