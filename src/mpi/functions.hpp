// SPDX-License-Identifier: Apache-2.0
// The functions of MPI that the core calls: their names and parameters.
#pragma once

#include "mpi/handles.hpp"

// clang-format off
/// X(name, (parameters)). Each returns an MPI error code.
#define STRETTO_MPI_FUNCTIONS(X)                                                                             \
  X(Abort, (MPI_Comm, int))                                                                                  \
  X(Allgather, (const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm))                         \
  X(Allreduce, (const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm))                                    \
  X(Bcast, (void*, int, MPI_Datatype, int, MPI_Comm))                                                        \
  X(Cancel, (MPI_Request*))                                                                                  \
  X(Comm_call_errhandler, (MPI_Comm, int))                                                                   \
  X(Comm_create, (MPI_Comm, MPI_Group, MPI_Comm*))                                                           \
  X(Comm_create_group, (MPI_Comm, MPI_Group, int, MPI_Comm*))                                                \
  X(Comm_create_keyval, (MPI_Comm_copy_attr_function*, MPI_Comm_delete_attr_function*, int*, void*))         \
  X(Comm_free, (MPI_Comm*))                                                                                  \
  X(Comm_free_keyval, (int*))                                                                                \
  X(Comm_get_attr, (MPI_Comm, int, void*, int*))                                                             \
  X(Comm_get_errhandler, (MPI_Comm, MPI_Errhandler*))                                                        \
  X(Comm_group, (MPI_Comm, MPI_Group*))                                                                      \
  X(Comm_rank, (MPI_Comm, int*))                                                                             \
  X(Comm_set_attr, (MPI_Comm, int, void*))                                                                   \
  X(Comm_set_errhandler, (MPI_Comm, MPI_Errhandler))                                                         \
  X(Comm_size, (MPI_Comm, int*))                                                                             \
  X(Comm_split_type, (MPI_Comm, int, int, MPI_Info, MPI_Comm*))                                              \
  X(Comm_test_inter, (MPI_Comm, int*))                                                                       \
  X(Errhandler_free, (MPI_Errhandler*))                                                                      \
  X(Error_class, (int, int*))                                                                                \
  X(Error_string, (int, char*, int*))                                                                        \
  X(Finalized, (int*))                                                                                       \
  X(Get_count, (const MPI_Status*, MPI_Datatype, int*))                                                      \
  X(Get_elements_x, (const MPI_Status*, MPI_Datatype, MPI_Count*))                                           \
  X(Get_library_version, (char*, int*))                                                                      \
  X(Get_processor_name, (char*, int*))                                                                       \
  X(Group_free, (MPI_Group*))                                                                                \
  X(Group_incl, (MPI_Group, int, const int*, MPI_Group*))                                                    \
  X(Group_translate_ranks, (MPI_Group, int, const int*, MPI_Group, int*))                                    \
  X(Iallgather, (const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Request*))          \
  X(Iallreduce, (const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*))                     \
  X(Ialltoall, (const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Request*))           \
  X(Ibarrier, (MPI_Comm, MPI_Request*))                                                                      \
  X(Ibcast, (void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request*))                                         \
  X(Improbe, (int, int, MPI_Comm, int*, MPI_Message*, MPI_Status*))                                          \
  X(Imrecv, (void*, int, MPI_Datatype, MPI_Message*, MPI_Request*))                                          \
  X(Initialized, (int*))                                                                                     \
  X(Iprobe, (int, int, MPI_Comm, int*, MPI_Status*))                                                         \
  X(Irecv, (void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*))                                     \
  X(Ireduce, (const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Request*))                   \
  X(Ireduce_scatter, (const void*, void*, const int*, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*))         \
  X(Irsend, (const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*))                              \
  X(Isend, (const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*))                               \
  X(Issend, (const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*))                              \
  X(Op_commutative, (MPI_Op, int*))                                                                          \
  X(Op_create, (MPI_User_function*, int, MPI_Op*))                                                           \
  X(Op_free, (MPI_Op*))                                                                                      \
  X(Pack, (const void*, int, MPI_Datatype, void*, int, int*, MPI_Comm))                                      \
  X(Query_thread, (int*))                                                                                    \
  X(Recv, (void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*))                                       \
  X(Recv_init, (void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*))                                 \
  X(Reduce, (const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm))                                  \
  X(Reduce_local, (const void*, void*, int, MPI_Datatype, MPI_Op))                                           \
  X(Request_free, (MPI_Request*))                                                                            \
  X(Send, (const void*, int, MPI_Datatype, int, int, MPI_Comm))                                              \
  X(Send_init, (const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*))                           \
  X(Sendrecv, (const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int, MPI_Comm,       \
               MPI_Status*))                                                                                 \
  X(Start, (MPI_Request*))                                                                                   \
  X(Test, (MPI_Request*, int*, MPI_Status*))                                                                 \
  X(Type_commit, (MPI_Datatype*))                                                                            \
  X(Type_contiguous, (int, MPI_Datatype, MPI_Datatype*))                                                     \
  X(Type_create_resized, (MPI_Datatype, MPI_Aint, MPI_Aint, MPI_Datatype*))                                  \
  X(Type_free, (MPI_Datatype*))                                                                              \
  X(Type_get_envelope, (MPI_Datatype, int*, int*, int*, int*))                                               \
  X(Type_get_extent, (MPI_Datatype, MPI_Aint*, MPI_Aint*))                                                   \
  X(Type_get_true_extent, (MPI_Datatype, MPI_Aint*, MPI_Aint*))                                              \
  X(Type_size, (MPI_Datatype, int*))                                                                         \
  X(Type_size_x, (MPI_Datatype, MPI_Count*))                                                                 \
  X(Unpack, (const void*, int, int*, void*, int, MPI_Datatype, MPI_Comm))

/// The functions that take an array of handles. X(name, (parameters)).
#define STRETTO_MPI_LIST_FUNCTIONS(X)                                                                        \
  X(Startall, (int, MPI_Request*))                                                                           \
  X(Testall, (int, MPI_Request*, int*, MPI_Status*))                                                         \
  X(Testany, (int, MPI_Request*, int*, int*, MPI_Status*))                                                   \
  X(Testsome, (int, MPI_Request*, int*, int*, MPI_Status*))                                                  \
  X(Type_create_struct, (int, const int*, const MPI_Aint*, const MPI_Datatype*, MPI_Datatype*))              \
  X(Type_get_contents, (MPI_Datatype, int, int, int, int*, MPI_Aint*, MPI_Datatype*))                        \
  X(Waitall, (int, MPI_Request*, MPI_Status*))

/// The functions of MPI 4. They are nullptr with older libraries, which lack them. X(name, (parameters)).
#define STRETTO_MPI_4_FUNCTIONS(X)                                                                           \
  X(Precv_init, (void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request*))           \
  X(Pready, (int, MPI_Request))                                                                              \
  X(Psend_init, (const void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request*))     \
  X(Type_get_contents_c, (MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*, MPI_Aint*,         \
                          MPI_Count*, MPI_Datatype*))                                                        \
  X(Type_get_envelope_c, (MPI_Datatype, MPI_Count*, MPI_Count*, MPI_Count*, MPI_Count*, int*))
/// The functions that only measuring programs call. X(name, (parameters)). A library may lack some of them.
#define STRETTO_MPI_TOOL_FUNCTIONS(X)                                                                        \
  X(Barrier, (MPI_Comm))                                                                                     \
  X(Comm_dup, (MPI_Comm, MPI_Comm*))                                                                         \
  X(Comm_split, (MPI_Comm, int, int, MPI_Comm*))                                                             \
  X(Gather, (const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm))                       \
  X(Info_create, (MPI_Info*))                                                                                \
  X(Info_free, (MPI_Info*))                                                                                  \
  X(Info_set, (MPI_Info, const char*, const char*))                                                          \
  X(Probe, (int, int, MPI_Comm, MPI_Status*))                                                                \
  X(T_cvar_get_index, (const char*, int*))                                                                   \
  X(T_cvar_get_info, (int, char*, int*, int*, MPI_Datatype*, MPI_T_enum*, char*, int*, int*, int*))          \
  X(T_cvar_handle_alloc, (int, void*, MPI_T_cvar_handle*, int*))                                             \
  X(T_cvar_read, (MPI_T_cvar_handle, void*))                                                                 \
  X(T_cvar_write, (MPI_T_cvar_handle, const void*))                                                          \
  X(T_enum_get_info, (MPI_T_enum, int*, char*, int*))                                                        \
  X(T_enum_get_item, (MPI_T_enum, int, int*, char*, int*))                                                   \
  X(T_init_thread, (int, int*))                                                                              \
  X(Wait, (MPI_Request*, MPI_Status*))
// clang-format on
