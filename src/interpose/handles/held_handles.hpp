// SPDX-License-Identifier: Apache-2.0
// A program may free a datatype or an operation while a call that uses it is under way. MPI libraries keep it
// until that has ended; so does Stretto, by putting the program's MPI_Type_free or MPI_Op_free off.
#pragma once

#include <vector>

#include "engine/mpi.hpp"

namespace stretto {

/// Keeps handles that the program made alive, as long as it lives itself. Predefined ones need none of it. It
/// may end in any thread: what the program has freed meanwhile is left to free_left_handles().
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

/// The program frees a handle. Returns whether that is put off until nothing holds it any more; if not, the
/// library must free it.
bool postpone_datatype_free(MPI_Datatype datatype);
bool postpone_op_free(MPI_Op op);

/// To be called by threads of the program while they are in MPI. A few nanoseconds if there are none.
void free_left_handles();

}  // namespace stretto
