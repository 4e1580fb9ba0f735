// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>

#include "mpi/library.hpp"
#include "mpi/mpi.hpp"

namespace stretto {

std::string load_mpi(const void* function) {
  const bool is_certain = is_library_certain();
  if (is_certain || !mpi.has_library()) return {};
  std::optional<Library> found = find_library(function);
  if (!found) return "no MPI library is loaded in this process";
  const BindFace bind = found->interface ? face_of(*found->interface) : nullptr;
  if (bind == nullptr) {
    use_library(nullptr);
    return "the process uses " + found->path +
           (found->interface ? ", of the binary interface " + std::string(name_of(*found->interface)) +
                                   ", for which this Stretto was not built"
                             : ", of a binary interface that Stretto does not know");
  }
  use_library(found->handle.release());
  if (const char* const missing = bind(mpi_symbol)) {
    use_library(nullptr);
    return "the MPI library of this process lacks " + std::string(missing);
  }
  return {};
}

}  // namespace stretto
