// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace stretto::bench {

/// The calls of MPI that can be measured. Stretto has no algorithms for those from scatter on: they are
/// only parts of mock-ups (mockup.hpp).
enum class Collective : std::uint8_t {
  allreduce,
  bcast,
  reduce,
  reduce_scatter,
  reduce_scatter_block,
  allgather,
  scatter,
  scatterv,
  gather,
  alltoall
};

/// How a program makes such a call: in one step, by a start and MPI_Wait, or by MPI_Start and MPI_Wait on a
/// persistent request.
enum class Form : std::uint8_t { blocking, non_blocking, persistent };

constexpr std::array<std::string_view, 3> form_names{"blocking", "non-blocking", "persistent"};

constexpr std::string_view name_of(Form form) {
  return form_names.at(static_cast<std::size_t>(form));
}

constexpr std::optional<Form> find_form(std::string_view name) {
  const auto* const found = std::find(form_names.begin(), form_names.end(), name);
  return found == form_names.end() ? std::nullopt
                                   : std::optional(static_cast<Form>(found - form_names.begin()));
}

struct CollectiveName {
  Collective collective;
  std::string_view name;
  std::string_view algorithms;  // the collective whose algorithms carry it out; empty: only the library's
};

constexpr std::array<CollectiveName, 10> collective_names{{
    {Collective::allreduce, "allreduce", "allreduce"},
    {Collective::bcast, "bcast", "bcast"},
    {Collective::reduce, "reduce", "reduce"},
    {Collective::reduce_scatter, "reduce_scatter", "reduce_scatter"},
    {Collective::reduce_scatter_block, "reduce_scatter_block", "reduce_scatter"},
    {Collective::allgather, "allgather", "allgather"},
    {Collective::scatter, "scatter", ""},
    {Collective::scatterv, "scatterv", ""},
    {Collective::gather, "gather", ""},
    {Collective::alltoall, "alltoall", ""},
}};

constexpr const CollectiveName& names_of(Collective collective) {
  return collective_names.at(static_cast<std::size_t>(collective));
}

constexpr std::optional<Collective> find_collective(std::string_view name) {
  const auto* const found = std::find_if(collective_names.begin(), collective_names.end(),
                                         [&](const CollectiveName& one) { return one.name == name; });
  return found == collective_names.end() ? std::nullopt : std::optional(found->collective);
}

constexpr bool has_root(Collective collective) {
  switch (collective) {
    case Collective::bcast:
    case Collective::reduce:
    case Collective::scatter:
    case Collective::scatterv:
    case Collective::gather:
      return true;
    default:
      return false;
  }
}

/// Whether all ranks have blocks of one length, so that a message is a multiple of the number of ranks.
constexpr bool has_equal_blocks(Collective collective) {
  switch (collective) {
    case Collective::reduce_scatter_block:
    case Collective::allgather:
    case Collective::scatter:
    case Collective::gather:
    case Collective::alltoall:
      return true;
    default:
      return false;
  }
}

}  // namespace stretto::bench
