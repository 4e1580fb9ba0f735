// SPDX-License-Identifier: Apache-2.0
// The MPI libraries that this process has loaded.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "text/mpi_interface.hpp"

namespace stretto {

struct CloseLibrary {
  void operator()(void* handle) const;
};

struct Library {
  std::string path;
  std::unique_ptr<void, CloseLibrary> handle;  // of dlopen
  std::optional<Interface> interface;          // nothing: one that Stretto does not know
};

/// Returns the library that has a function. Without one, returns the library that the program calls, if any
/// is loaded: the first one that is initialized, or else the first one. (A library of the standard ABI that
/// translates has loaded another one behind it, for itself.)
std::optional<Library> find_library(const void* function);

/// Whether the program has initialized the library in use, so that it is the right one. From now on,
/// was_library_looked_for() is true.
bool is_library_certain();

/// From now on, mpi_symbol() looks into this library; nullptr: into none.
void use_library(void* handle);

}  // namespace stretto
