// SPDX-License-Identifier: Apache-2.0
// MPI as the engine sees it: no symbol of an MPI library is linked.
//
// The preload is loaded into every process that a launcher starts, including shells and interpreters, and
// before an interpreter opens its MPI library (mpi4py does so privately, where the linker does not look).
// So functions and predefined handles cannot be references that the loader resolves. They are looked up
// once, in the library that the process has. The program's calls, which go through other PMPI tools, are
// passed on by interpose/session/entry.hpp; the engine's own traffic is PMPI.
#pragma once

#include <mpi.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "text/mpi_interface.hpp"

namespace stretto {

/// Returns the address of a symbol of the MPI library that load_mpi() found; nullptr if it has none of that
/// name.
void* mpi_symbol(const char* name);

/// Returns the same of any MPI library of the process, whatever its binary interface.
void* any_mpi_symbol(const char* name);

/// Returns the interface by which the program calls MPI, if a library of one is loaded.
std::optional<Interface> find_interface();

/// Returns the address of a variable of the MPI library. The program may hold it: the linker moves
/// variables that a program refers to into the program (copy relocation), and the library's own copy is
/// then unused.
void* mpi_variable(const char* name);

template <typename Handle>
Handle predefined_handle(const char* name) {
  return static_cast<Handle>(mpi_variable(name));
}

}  // namespace stretto

// Open MPI's predefined handles are addresses of its variables. Its macros (MPI_INT, MPI_SUM, …) all expand
// to this one, which is redefined to look up the variable.
#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (::stretto::predefined_handle<type>(#global))
#endif

namespace stretto {

// clang-format off
#define STRETTO_MPI_FUNCTIONS(X)                                                                             \
  X(Abort) X(Allgather) X(Allreduce) X(Bcast) X(Cancel) X(Comm_call_errhandler) X(Comm_create)               \
  X(Comm_create_group)                                                                                       \
  X(Comm_create_keyval) X(Comm_free) X(Comm_free_keyval) X(Comm_get_attr) X(Comm_get_errhandler)             \
  X(Comm_group) X(Comm_rank) X(Comm_set_attr) X(Comm_set_errhandler) X(Comm_size) X(Comm_split_type)         \
  X(Comm_test_inter) X(Errhandler_free) X(Error_class) X(Error_string) X(Finalized) X(Get_count)             \
  X(Get_elements_x)                                                                                          \
  X(Get_library_version) X(Get_processor_name) X(Group_free) X(Group_incl) X(Group_translate_ranks)          \
  X(Iallgather) X(Iallreduce) X(Ialltoall) X(Ibarrier) X(Ibcast) X(Improbe) X(Imrecv)                        \
  X(Initialized) X(Iprobe) X(Irecv) X(Ireduce) X(Ireduce_scatter) X(Irsend) X(Isend) X(Issend)               \
  X(Op_commutative) X(Op_create) X(Op_free) X(Pack) X(Query_thread) X(Recv) X(Recv_init) X(Reduce)           \
  X(Reduce_local) X(Request_free) X(Send) X(Send_init) X(Sendrecv) X(Start)            \
  X(Startall) X(Test) X(Testall) X(Testany) X(Testsome) X(Type_commit) X(Type_contiguous)                    \
  X(Type_create_resized) X(Type_create_struct) X(Type_free)                                                  \
  X(Type_get_contents) X(Type_get_envelope) X(Type_get_extent) X(Type_get_true_extent) X(Type_size)          \
  X(Type_size_x) X(Unpack) X(Waitall)
// clang-format on

// The mpi.h of Open MPI 4 and 5, and that of SMPI, do not declare all of MPI 4.
#if defined(STRETTO_ABI_MPICH) || defined(STRETTO_ABI_ABI)
#define STRETTO_HAS_MPI_4
#define STRETTO_MPI_4_FUNCTIONS(X) \
  X(Precv_init) X(Pready) X(Psend_init) X(Type_get_contents_c) X(Type_get_envelope_c)
#endif

/// Stands for a function of MPI until load_mpi() has found it. An object for another binary interface than
/// that of the process never finds it, and must not call MPI.
template <typename Function>
struct NotLoaded;
template <typename Result, typename... Arguments>
struct NotLoaded<Result (*)(Arguments...)> {
  [[noreturn]] static Result call(Arguments... /*arguments*/) {
    std::fputs("stretto: a function of MPI is called before the MPI library is known\n", stderr);
    std::abort();
  }
};

/// A predefined handle, once load_mpi() has found it. Debug builds stop at an earlier use.
template <typename Handle>
class LoadedHandle {
 public:
  LoadedHandle& operator=(Handle handle) {
    handle_ = handle;
    is_loaded_ = true;
    return *this;
  }
  operator Handle() const {
    assert(is_loaded_);
    return handle_;
  }

 private:
  Handle handle_{};
  bool is_loaded_ = false;
};

/// The functions and the most used handles of the MPI library in this process.
struct MpiLibrary {
#define STRETTO_DECLARE(name) decltype(&PMPI_##name) name = &NotLoaded<decltype(&PMPI_##name)>::call;
  STRETTO_MPI_FUNCTIONS(STRETTO_DECLARE)
#undef STRETTO_DECLARE
#ifdef STRETTO_HAS_MPI_4
#define STRETTO_DECLARE(name) decltype(&PMPI_##name) name = nullptr;  // where the library is older
  STRETTO_MPI_4_FUNCTIONS(STRETTO_DECLARE)
#undef STRETTO_DECLARE
#endif
  LoadedHandle<MPI_Comm> comm_world;
  LoadedHandle<MPI_Comm> comm_self;
  LoadedHandle<MPI_Comm> comm_null;
  LoadedHandle<MPI_Request> request_null;
  LoadedHandle<MPI_Datatype> datatype_null;
  LoadedHandle<MPI_Op> op_null;
  LoadedHandle<MPI_Errhandler> errors_return;
  LoadedHandle<MPI_Errhandler> errors_are_fatal;
};

extern MpiLibrary mpi;

/// Fills in the handles of `mpi`.
inline void load_mpi_handles() {
  mpi.comm_world = MPI_COMM_WORLD;
  mpi.comm_self = MPI_COMM_SELF;
  mpi.comm_null = MPI_COMM_NULL;
  mpi.request_null = MPI_REQUEST_NULL;
  mpi.datatype_null = MPI_DATATYPE_NULL;
  mpi.op_null = MPI_OP_NULL;
  mpi.errors_return = MPI_ERRORS_RETURN;
  mpi.errors_are_fatal = MPI_ERRORS_ARE_FATAL;
}

/// Finds the MPI library of this process and fills in `mpi`. Returns one line with the reason if it cannot,
/// or an empty one. To be called when the program first enters MPI, since an interpreter may load its MPI
/// library late.
std::string load_mpi();

}  // namespace stretto
