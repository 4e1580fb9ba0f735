// SPDX-License-Identifier: Apache-2.0
// MPI's types as the core sees them, without the mpi.h of any library.
//
// A handle is a word that holds the handle of any binary interface: a pointer, or MPICH's 32 bits with zeros
// before them. The types have MPI's names. A face (src/faces) converts both ways.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto {

using MPI_Comm = struct OpaqueComm*;
using MPI_Datatype = struct OpaqueDatatype*;
using MPI_Errhandler = struct OpaqueErrhandler*;
using MPI_Group = struct OpaqueGroup*;
using MPI_Info = struct OpaqueInfo*;
using MPI_Message = struct OpaqueMessage*;
using MPI_Op = struct OpaqueOp*;
using MPI_Request = struct OpaqueRequest*;

// The handles of MPI's tool interface, which are pointers in every binary interface.
using MPI_T_cvar_handle = struct OpaqueCvarHandle*;
using MPI_T_enum = struct OpaqueEnum*;

/// A status is a block whose size and layout depend on the interface (mpi/status.hpp). Arrays of the library
/// and of the program are handed on as they are.
struct MPI_Status;

using MPI_Aint = std::ptrdiff_t;
using MPI_Count = std::int64_t;

#ifndef MPI_SUCCESS
constexpr int MPI_SUCCESS = 0;  // NOLINT(readability-identifier-naming): in every MPI (MPI 4.1, section 9.4)
#endif

/// A handle as it is in a register or on the stack. If it is one of MPICH's 32 bits, the upper half is
/// undefined.
using RawHandle = std::uintptr_t;

/// Functions that the library calls get raw handles, too.
using MPI_User_function = void(void* in, void* inout, int* length, void* datatype);
using MPI_Comm_copy_attr_function = int(RawHandle comm, int keyval, void* extra, void* value, void* copy,
                                        int* flag);
using MPI_Comm_delete_attr_function = int(RawHandle comm, int keyval, void* value, void* extra);

}  // namespace stretto
