// SPDX-License-Identifier: Apache-2.0
// Open MPI's interface: handles are pointers to its objects.
#include "faces/face.hpp"

namespace stretto {
namespace {

constexpr MpiLibrary open_mpi() {
  MpiLibrary library = faces::make_library(Interface::openmpi);
  library.may_be_communicator = [](MPI_Comm comm) { return comm != nullptr && comm != mpi.comm_null; };
  library.may_be_user_op = [](MPI_Op op) { return op != nullptr && op != mpi.op_null; };
  library.may_be_user_datatype = [](MPI_Datatype datatype) {
    return datatype != nullptr && datatype != mpi.datatype_null;
  };
  return library;
}

}  // namespace

constinit MpiLibrary mpi = open_mpi();

/// The mpi.h of Open MPI 4 and 5 does not declare all of MPI 4.
const char* bind_mpi(void* (*find)(const char* symbol)) {
  STRETTO_MPI_FUNCTIONS(STRETTO_BIND)
  STRETTO_MPI_LIST_FUNCTIONS(STRETTO_BIND)
  faces::set_handles();
  return nullptr;
}

}  // namespace stretto
