// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "algorithms/mpi_function.hpp"
#include "select/form.hpp"

namespace stretto::bench {

/// The measuring program measures MPI functions.
using Collective = MpiFunction;

constexpr std::array<std::string_view, 3> form_names{"blocking", "non-blocking", "persistent"};

constexpr std::string_view name_of(Form form) {
  return form_names.at(static_cast<std::size_t>(form));
}

constexpr std::optional<Form> find_form(std::string_view name) {
  const auto* const found = std::find(form_names.begin(), form_names.end(), name);
  return found == form_names.end() ? std::nullopt
                                   : std::optional(static_cast<Form>(found - form_names.begin()));
}

// Properties of the collective whose algorithms carry out a function.
constexpr bool is_gather(Collective collective) {
  return is_gather(collective_of(collective));
}
constexpr bool is_scatter(Collective collective) {
  return is_scatter(collective_of(collective));
}
constexpr bool is_allgather(Collective collective) {
  return collective_of(collective) == stretto::Collective::allgather;
}
constexpr bool is_alltoall(Collective collective) {
  return is_alltoall(collective_of(collective));
}
constexpr bool is_scan(Collective collective) {
  return is_scan(collective_of(collective));
}
constexpr bool has_root(Collective collective) {
  return has_root(collective_of(collective));
}

/// Whether a call gives a length for each rank.
constexpr bool has_lengths(Collective collective) {
  switch (collective) {
    case Collective::reduce_scatter:
    case Collective::allgatherv:
    case Collective::alltoallv:
    case Collective::alltoallw:
    case Collective::gatherv:
    case Collective::scatterv:
      return true;
    default:
      return false;
  }
}

/// Whether a message must be a multiple of the number of ranks: because all ranks have blocks of one length,
/// or, in an alltoall with lengths, because the lengths must match in place.
constexpr bool has_equal_blocks(Collective collective) {
  return collective == Collective::reduce_scatter_block || collective == Collective::allgather ||
         collective == Collective::gather || collective == Collective::scatter || is_alltoall(collective);
}

constexpr bool goes_in_place(Collective collective) {
  return collective != Collective::bcast && collective != Collective::barrier;
}

}  // namespace stretto::bench
