// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cases/collective.hpp"

namespace stretto::bench {

/// Calls that together could replace a call of another collective, or that are compared with it, such as
/// `reduce+bcast` for an allreduce, or `allreduce/2+allreduce/2`, two allreduces of half the message. They
/// run one after the other, each on its own buffers, so that each result is checked by itself. Copies that a
/// program would need between them are not counted. (Träff, Gropp, Thakur: Self-consistent MPI performance
/// guidelines, 2010.)
struct Mockup {
  struct Part {
    Collective collective;
    std::size_t divisor = 1;  // of the message

    friend bool operator==(const Part&, const Part&) = default;
  };

  std::string text;
  std::vector<Part> parts;
};

/// Throws std::invalid_argument with one line that names the text and what was expected.
Mockup parse_mockup(std::string_view text);

}  // namespace stretto::bench
