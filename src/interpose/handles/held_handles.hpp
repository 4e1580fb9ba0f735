// SPDX-License-Identifier: Apache-2.0
// A program may free a datatype or an operation while a call that uses it is in flight. MPI libraries keep
// it until the call has completed. Stretto does the same: it postpones the program's MPI_Type_free or
// MPI_Op_free.
#pragma once

#include <vector>

#include "mpi/mpi.hpp"

namespace stretto {

/// Keeps handles of the program alive as long as the object lives. Predefined handles need no holder. The
/// object may be destroyed in any thread: free_left_handles() frees the handles that the program has freed in
/// the meantime.
class HeldHandles {
 public:
  HeldHandles() = default;
  HeldHandles(const HeldHandles&) = delete;
  HeldHandles& operator=(const HeldHandles&) = delete;
  ~HeldHandles();

  void hold_datatype(MPI_Datatype datatype);
  void hold_op(MPI_Op op);

 private:
  std::vector<MPI_Datatype> datatypes_;
  std::vector<MPI_Op> ops_;
};

/// To be called when the program frees a handle. Returns whether that is postponed until nothing holds it any
/// more. Otherwise the MPI library must free it.
bool postpone_datatype_free(MPI_Datatype datatype);
bool postpone_op_free(MPI_Op op);

/// Frees the handles that the program has freed and that nothing holds any more. To be called by threads of
/// the program while they are in MPI. Takes a few nanoseconds if there are none.
void free_left_handles();

}  // namespace stretto
