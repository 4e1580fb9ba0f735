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
enum class Form : std::uint8_t { blocking, non_blocking, persistent };

inline constexpr std::array forms{Form::blocking, Form::non_blocking, Form::persistent};

struct NamedCall {
  Collective collective;
  Form form;
};

/// Returns the name in the C interface: `allreduce`, `iallreduce`, `allreduce_init`.
std::string name_of(Collective collective, Form form);

/// Finds the call of that name; nothing if there is none.
std::optional<NamedCall> find_call(std::string_view name);

}  // namespace stretto
