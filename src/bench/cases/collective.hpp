// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stretto::bench {

/// The calls of MPI that can be measured.
enum class Collective : std::uint8_t {
  allreduce,
  bcast,
  reduce,
  reduce_scatter,
  reduce_scatter_block,
  allgather,
  allgatherv,
  alltoall,
  alltoallv,
  alltoallw,
  gather,
  gatherv,
  scatter,
  scatterv,
  scan,
  exscan,
  barrier
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
  std::string_view algorithms;  // the collective whose algorithms carry it out
};

constexpr std::array<CollectiveName, 17> collective_names{{
    {Collective::allreduce, "allreduce", "allreduce"},
    {Collective::bcast, "bcast", "bcast"},
    {Collective::reduce, "reduce", "reduce"},
    {Collective::reduce_scatter, "reduce_scatter", "reduce_scatter"},
    {Collective::reduce_scatter_block, "reduce_scatter_block", "reduce_scatter"},
    {Collective::allgather, "allgather", "allgather"},
    {Collective::allgatherv, "allgatherv", "allgather"},
    {Collective::alltoall, "alltoall", "alltoall"},
    {Collective::alltoallv, "alltoallv", "alltoallv"},
    {Collective::alltoallw, "alltoallw", "alltoallv"},
    {Collective::gather, "gather", "gather"},
    {Collective::gatherv, "gatherv", "gatherv"},
    {Collective::scatter, "scatter", "scatter"},
    {Collective::scatterv, "scatterv", "scatterv"},
    {Collective::scan, "scan", "scan"},
    {Collective::exscan, "exscan", "exscan"},
    {Collective::barrier, "barrier", "barrier"},
}};

constexpr const CollectiveName& names_of(Collective collective) {
  return collective_names.at(static_cast<std::size_t>(collective));
}

/// Returns the name of MPI's blocking function.
inline std::string mpi_name(Collective collective) {
  std::string name(names_of(collective).name);
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return "MPI_" + name;
}

constexpr std::optional<Collective> find_collective(std::string_view name) {
  const auto* const found = std::find_if(collective_names.begin(), collective_names.end(),
                                         [&](const CollectiveName& one) { return one.name == name; });
  return found == collective_names.end() ? std::nullopt : std::optional(found->collective);
}

constexpr bool is_gather(Collective collective) {
  return collective == Collective::gather || collective == Collective::gatherv;
}
constexpr bool is_scatter(Collective collective) {
  return collective == Collective::scatter || collective == Collective::scatterv;
}
constexpr bool is_allgather(Collective collective) {
  return collective == Collective::allgather || collective == Collective::allgatherv;
}
constexpr bool is_alltoall(Collective collective) {
  return collective == Collective::alltoall || collective == Collective::alltoallv ||
         collective == Collective::alltoallw;
}
constexpr bool is_scan(Collective collective) {
  return collective == Collective::scan || collective == Collective::exscan;
}

constexpr bool has_root(Collective collective) {
  return collective == Collective::bcast || collective == Collective::reduce || is_gather(collective) ||
         is_scatter(collective);
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

/// Whether a message is a multiple of the number of ranks: since all have blocks of one length, or, in an
/// alltoall with lengths, so that its lengths can be the same in place.
constexpr bool has_equal_blocks(Collective collective) {
  return collective == Collective::reduce_scatter_block || collective == Collective::allgather ||
         collective == Collective::gather || collective == Collective::scatter || is_alltoall(collective);
}

constexpr bool goes_in_place(Collective collective) {
  return collective != Collective::bcast && collective != Collective::barrier;
}

}  // namespace stretto::bench
