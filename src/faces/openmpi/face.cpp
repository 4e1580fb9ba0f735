// SPDX-License-Identifier: Apache-2.0
// Open MPI's interface: handles are pointers to its objects.
#include "faces/face.hpp"

namespace stretto::faces {
namespace {

/// Binds no MPI 4 functions: the mpi.h of Open MPI 4 and 5 does not declare all of them.
const char* bind(void* (*find)(const char* symbol)) {
  STRETTO_MPI_FUNCTIONS(STRETTO_BIND)
  STRETTO_MPI_LIST_FUNCTIONS(STRETTO_BIND)
  STRETTO_MPI_TOOL_FUNCTIONS(STRETTO_BIND_OPTIONAL)
  set_constants(Interface::openmpi);
  mpi.may_be_communicator = [](MPI_Comm comm) { return comm != nullptr && comm != mpi.comm_null; };
  mpi.may_be_user_op = [](MPI_Op op) { return op != nullptr && op != mpi.op_null; };
  mpi.may_be_user_datatype = [](MPI_Datatype datatype) {
    return datatype != nullptr && datatype != mpi.datatype_null;
  };
  return nullptr;
}

}  // namespace

extern const BindFace openmpi = bind;

}  // namespace stretto::faces
