// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "select/rule.hpp"
#include "select/spec.hpp"

namespace stretto {

/// What a job has learned about blocking calls of a size class: from `from` bytes, a power of two, up to
/// twice as many.
struct Learned {
  CallShape shape;  // `bytes` is the least of the class
  Spec spec;
  double gain = 0;     // times faster than the MPI default; 0: not known
  double seconds = 0;  // of the calls from which it was learned
};

/// Returns the text of a table (docs/formats.md) with the learned rows, and everything else unchanged. If
/// `text` is empty there is no table yet; the new one is for `mpi` (Open MPI 4.1.4). Sizes about which
/// nothing was learned keep their rows. If a class was learned twice, the result from more seconds counts.
/// Throws FormatError if the text is no table, is one of another library or version, or would become too
/// long.
std::string merge_learned(std::string_view text, std::string_view mpi, std::span<const Learned> learned);

}  // namespace stretto
