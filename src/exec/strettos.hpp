// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exec/elf.hpp"

namespace stretto {

/// Returns the path of this program, symbolic links resolved.
std::string own_path();

/// Returns the folder with the shared objects of this installation; empty if there is none.
/// STRETTO_LIB_DIR names that of another one.
std::string find_library_folder();

/// Returns the shared objects to preload, the most likely one first. Only one, if the program needs an MPI
/// library itself; else all: those that do not serve a process let its calls pass by, and which one does is
/// known when it enters MPI.
std::vector<std::string> choose_strettos(const std::string& folder, const std::optional<ElfFacts>& program);

/// Returns the value of LD_PRELOAD: these, and behind them what is preloaded already.
std::string preload_value(const std::vector<std::string>& strettos, const char* existing);

}  // namespace stretto
