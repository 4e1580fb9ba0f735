// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace stretto {

/// The launcher of an MPI library.
struct Launcher {
  bool is_open_mpi = false;  // else MPICH, or what has its binary interface
  /// The folder that holds its bin/ and lib/; empty if it is not known.
  std::filesystem::path prefix;
};

/// Returns the launcher above this process. Returns nothing if it is not known: PMI_SIZE from Slurm may be
/// for any library.
std::optional<Launcher> find_launcher();

/// Reads `openmpi:/usr`: the binary interface and the folder, which may be empty. Returns nothing if the text
/// is wrong.
std::optional<Launcher> parse_launcher(const std::string& text);

/// Returns the variables that make mpi4py's wheel, which supports several MPI libraries, use the library of
/// the launcher; with another one, each rank may be a job of its own. Returns none if the user's own
/// variables choose a library.
std::map<std::string, std::string> mpi4py_variables(const Launcher& launcher);

}  // namespace stretto
