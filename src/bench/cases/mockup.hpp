// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cases/collective.hpp"

namespace stretto::bench {

/// Calls that together could replace one of another collective, or are compared with it: `reduce+bcast`
/// beside an allreduce; `allreduce/2+allreduce/2`, two of half the message. They run one after the other,
/// each on its own buffers, so that each result is checked by itself. What a program would copy between
/// them is not counted. (Träff, Gropp, Thakur: Self-consistent MPI performance guidelines, 2010.)
struct Mockup {
  struct Part {
    Collective collective;
    std::size_t divisor = 1;  // of the message

    friend bool operator==(const Part&, const Part&) = default;
  };

  std::string text;
  std::vector<Part> parts;
};

/// Throws std::invalid_argument with one line that names the text and what would be right.
Mockup parse_mockup(std::string_view text);

}  // namespace stretto::bench
