// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "select/rule.hpp"
#include "select/spec.hpp"

namespace stretto {

/// What a job has found out about blocking calls of a size class: from `from` bytes, a power of two, up to
/// twice as many.
struct Learned {
  CallShape shape;  // `bytes` is the class's least
  Spec spec;
  double gain = 0;     // times faster than the library by itself; 0: not known
  double seconds = 0;  // of the calls by which it was learned
};

/// The text of a table (docs/formats.md) with what was learned put into it, and all else as it was. Empty
/// `text`: there is no table yet; then it is one of `mpi` (Open MPI 4.1.4). Of sizes that
/// were not learned it says what it said. Of two for one class the one of more seconds counts. Throws
/// FormatError if the text is no table, one of another library or version, or would become too long.
std::string merge_learned(std::string_view text, std::string_view mpi, std::span<const Learned> learned);

}  // namespace stretto
