// SPDX-License-Identifier: Apache-2.0
#include "interpose/start/launcher.hpp"

#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "mpi/mpi.hpp"
#include "select/library_name.hpp"
#include "text/rank_variables.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

/// Returns the name of the MPI library, whatever its binary interface.
std::string library_of_process() {
  auto* const get = reinterpret_cast<int (*)(char*, int*)>(any_mpi_symbol("PMPI_Get_library_version"));
  std::array<char, 8192> text{};  // the longest text that a library may write (MPICH)
  int length = 0;
  if (get == nullptr || get(text.data(), &length) != 0) return "another MPI library";
  const std::optional<LibraryName> known = parse_library_name(text.data());
  return known ? known->name : "another MPI library";
}

}  // namespace

bool may_be_rank_0() {
  return may_be_rank_0(std::getenv);
}

bool has_launcher() {
  return has_launcher(std::getenv, true);
}

std::optional<std::string> find_other_launcher(int ranks) {
  // If srun starts the launcher of Open MPI or Hydra, the ranks also have Slurm's variables, which then
  // describe the daemons.
  for (const RankVariables& launcher : rank_variables) {
    const bool counts = launcher.ranks != nullptr && launcher.starts != Starts::torch_programs;
    const char* text = counts ? std::getenv(launcher.ranks) : nullptr;
    if (text == nullptr) continue;
    if (parse_whole(text).value_or(0) <= static_cast<std::uint64_t>(ranks)) return std::nullopt;
    const char* rank = std::getenv(launcher.rank);
    if (rank == nullptr || std::string_view(rank) != "0") return "";
    return std::string(launcher.launcher) + " started " + text + " ranks, but MPI_COMM_WORLD has " +
           std::to_string(ranks) + ": each is a job of its own, since the program uses " +
           library_of_process() +
           "; start it with that library's own mpirun, or with srun and a --mpi that it supports";
  }
  return std::nullopt;
}

}  // namespace stretto
