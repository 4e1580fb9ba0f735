// SPDX-License-Identifier: Apache-2.0
// The functions of MPI that are collectives. Several may have the same algorithms.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "algorithms/collective.hpp"

namespace stretto {

enum class MpiFunction : std::uint8_t {
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

struct MpiFunctionFacts {
  MpiFunction function;
  std::string_view name;
  Collective algorithms;  // the collective whose algorithms carry it out
};

constexpr std::array<MpiFunctionFacts, 17> mpi_functions{{
    {MpiFunction::allreduce, "allreduce", Collective::allreduce},
    {MpiFunction::bcast, "bcast", Collective::bcast},
    {MpiFunction::reduce, "reduce", Collective::reduce},
    {MpiFunction::reduce_scatter, "reduce_scatter", Collective::reduce_scatter},
    {MpiFunction::reduce_scatter_block, "reduce_scatter_block", Collective::reduce_scatter},
    {MpiFunction::allgather, "allgather", Collective::allgather},
    {MpiFunction::allgatherv, "allgatherv", Collective::allgather},
    {MpiFunction::alltoall, "alltoall", Collective::alltoall},
    {MpiFunction::alltoallv, "alltoallv", Collective::alltoallv},
    {MpiFunction::alltoallw, "alltoallw", Collective::alltoallv},
    {MpiFunction::gather, "gather", Collective::gather},
    {MpiFunction::gatherv, "gatherv", Collective::gatherv},
    {MpiFunction::scatter, "scatter", Collective::scatter},
    {MpiFunction::scatterv, "scatterv", Collective::scatterv},
    {MpiFunction::scan, "scan", Collective::scan},
    {MpiFunction::exscan, "exscan", Collective::exscan},
    {MpiFunction::barrier, "barrier", Collective::barrier},
}};

constexpr const MpiFunctionFacts& facts_of(MpiFunction function) {
  return mpi_functions.at(static_cast<std::size_t>(function));
}

/// Returns the name without MPI_, in lower case.
constexpr std::string_view name_of(MpiFunction function) {
  return facts_of(function).name;
}

constexpr Collective collective_of(MpiFunction function) {
  return facts_of(function).algorithms;
}

/// Finds a function by that name.
constexpr std::optional<MpiFunction> find_mpi_function(std::string_view name) {
  const auto* const found = std::find_if(mpi_functions.begin(), mpi_functions.end(),
                                         [&](const MpiFunctionFacts& one) { return one.name == name; });
  return found == mpi_functions.end() ? std::nullopt : std::optional(found->function);
}

/// Returns the name as in mpi.h, of the blocking form.
inline std::string mpi_name(MpiFunction function) {
  std::string name(name_of(function));
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return "MPI_" + name;
}

}  // namespace stretto
