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

/// Returns the value of LD_PRELOAD: what is preloaded already, such as a PMPI tool, and behind it these. A
/// tool in front sees each call of the program once; from behind it would miss those that Stretto handles.
std::string preload_value(const std::vector<std::string>& strettos, const char* existing);

/// Returns the value of ASAN_OPTIONS by which the address sanitizer starts though libraries are preloaded
/// before it. It works there: it still comes before the libraries whose functions it replaces.
std::string sanitizer_options(const char* existing);

}  // namespace stretto
