// SPDX-License-Identifier: Apache-2.0
// The standard ABI of MPI 5: handles are pointers; predefined handles are small numbers.
#include "faces/face.hpp"

namespace stretto::faces {
namespace {

/// The standard reserves the numbers of ten bits for predefined handles.
constexpr std::uintptr_t highest_predefined = 0x3ff;

const char* bind(void* (*find)(const char* symbol)) {
  STRETTO_MPI_FUNCTIONS(STRETTO_BIND)
  STRETTO_MPI_LIST_FUNCTIONS(STRETTO_BIND)
  STRETTO_MPI_4_FUNCTIONS(STRETTO_BIND_OPTIONAL)
  STRETTO_MPI_TOOL_FUNCTIONS(STRETTO_BIND_OPTIONAL)
  set_constants(Interface::abi);
  mpi.may_be_communicator = [](MPI_Comm comm) { return comm != nullptr && comm != mpi.comm_null; };
  mpi.may_be_user_op = [](MPI_Op op) { return to_raw(op) > highest_predefined; };
  mpi.may_be_user_datatype = [](MPI_Datatype datatype) { return to_raw(datatype) > highest_predefined; };
  return nullptr;
}

}  // namespace

extern const BindFace abi = bind;

}  // namespace stretto::faces
