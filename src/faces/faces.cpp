// SPDX-License-Identifier: Apache-2.0
// The faces that this build has. CMake defines STRETTO_HAS_NAME for each.
#include "mpi/mpi.hpp"

namespace stretto {
namespace faces {

extern const BindFace openmpi;
extern const BindFace mpich;
extern const BindFace abi;

}  // namespace faces

BindFace face_of(Interface interface) {
  switch (interface) {
#ifdef STRETTO_HAS_OPENMPI
    case Interface::openmpi:
      return faces::openmpi;
#endif
#ifdef STRETTO_HAS_MPICH
    case Interface::mpich:
      return faces::mpich;
#endif
#ifdef STRETTO_HAS_ABI
    case Interface::abi:
      return faces::abi;
#endif
    default:
      return nullptr;
  }
}

const char* interfaces_of_build() {
  return ""
#ifdef STRETTO_HAS_OPENMPI
         "openmpi "
#endif
#ifdef STRETTO_HAS_MPICH
         "mpich "
#endif
#ifdef STRETTO_HAS_ABI
         "abi "
#endif
      ;
}

}  // namespace stretto
