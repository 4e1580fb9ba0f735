// SPDX-License-Identifier: Apache-2.0
// The standard ABI of MPI 5: handles are pointers, those that the standard defines are small numbers.
#include "faces/face.hpp"

namespace stretto {
namespace {

/// The standard keeps the numbers of ten bits for what it defines itself.
constexpr std::uintptr_t highest_predefined = 0x3ff;

constexpr MpiLibrary standard() {
  MpiLibrary library = faces::make_library(Interface::abi);
  library.may_be_communicator = [](MPI_Comm comm) { return comm != nullptr && comm != mpi.comm_null; };
  library.may_be_user_op = [](MPI_Op op) { return to_raw(op) > highest_predefined; };
  library.may_be_user_datatype = [](MPI_Datatype datatype) { return to_raw(datatype) > highest_predefined; };
  return library;
}

}  // namespace

constinit MpiLibrary mpi = standard();

const char* bind_mpi(void* (*find)(const char* symbol)) {
  STRETTO_MPI_FUNCTIONS(STRETTO_BIND)
  STRETTO_MPI_LIST_FUNCTIONS(STRETTO_BIND)
  STRETTO_MPI_4_FUNCTIONS(STRETTO_BIND_OPTIONAL)
  faces::set_handles();
  return nullptr;
}

}  // namespace stretto
