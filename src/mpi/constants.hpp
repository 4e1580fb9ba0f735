// SPDX-License-Identifier: Apache-2.0
// The constants of MPI that the core uses. Their values differ between binary interfaces, so a face fills
// them in.
#pragma once

// clang-format off
/// X(name, NAME): mpi.name is MPI_NAME. Numbers that the face's compiler knows.
#define STRETTO_MPI_NUMBERS(X)                                                                               \
  X(any_source, ANY_SOURCE) X(combiner_contiguous, COMBINER_CONTIGUOUS) X(combiner_dup, COMBINER_DUP)        \
  X(combiner_f90_complex, COMBINER_F90_COMPLEX) X(combiner_f90_integer, COMBINER_F90_INTEGER)                \
  X(combiner_f90_real, COMBINER_F90_REAL) X(combiner_named, COMBINER_NAMED)                                  \
  X(comm_type_shared, COMM_TYPE_SHARED) X(err_arg, ERR_ARG) X(err_buffer, ERR_BUFFER)                        \
  X(err_count, ERR_COUNT) X(err_in_status, ERR_IN_STATUS) X(err_intern, ERR_INTERN)                          \
  X(err_no_mem, ERR_NO_MEM) X(err_other, ERR_OTHER) X(err_pending, ERR_PENDING)                              \
  X(err_request, ERR_REQUEST) X(err_truncate, ERR_TRUNCATE)                                                  \
  X(err_unsupported_operation, ERR_UNSUPPORTED_OPERATION) X(proc_null, PROC_NULL) X(tag_ub, TAG_UB)          \
  X(thread_multiple, THREAD_MULTIPLE) X(thread_single, THREAD_SINGLE) X(undefined, UNDEFINED)

/// X(Handle, name, NAME): handles other than those of datatypes. They are known once the MPI library is.
#define STRETTO_MPI_HANDLES(X)                                                                               \
  X(Comm, comm_null, COMM_NULL) X(Comm, comm_self, COMM_SELF) X(Comm, comm_world, COMM_WORLD)                \
  X(Datatype, datatype_null, DATATYPE_NULL) X(Errhandler, errors_are_fatal, ERRORS_ARE_FATAL)                \
  X(Errhandler, errors_return, ERRORS_RETURN) X(Info, info_null, INFO_NULL) X(Op, op_null, OP_NULL)          \
  X(Request, request_null, REQUEST_NULL)                                                                     \
  X(Op, band, BAND) X(Op, bor, BOR) X(Op, bxor, BXOR) X(Op, land, LAND) X(Op, lor, LOR) X(Op, lxor, LXOR)    \
  X(Op, max, MAX) X(Op, maxloc, MAXLOC) X(Op, min, MIN) X(Op, minloc, MINLOC) X(Op, no_op, NO_OP)            \
  X(Op, prod, PROD) X(Op, replace, REPLACE) X(Op, sum, SUM)

/// X(name, NAME): predefined datatypes. MPI_DATATYPE_NULL where a library lacks one.
#define STRETTO_MPI_DATATYPES(X)                                                                             \
  X(aint, AINT) X(byte, BYTE) X(c_bool, C_BOOL) X(c_double_complex, C_DOUBLE_COMPLEX)                        \
  X(c_float_complex, C_FLOAT_COMPLEX) X(c_long_double_complex, C_LONG_DOUBLE_COMPLEX) X(char_, CHAR)         \
  X(character, CHARACTER) X(complex, COMPLEX) X(complex16, COMPLEX16) X(complex8, COMPLEX8)                  \
  X(count, COUNT) X(cxx_bool, CXX_BOOL) X(cxx_double_complex, CXX_DOUBLE_COMPLEX)                            \
  X(cxx_float_complex, CXX_FLOAT_COMPLEX) X(cxx_long_double_complex, CXX_LONG_DOUBLE_COMPLEX)                \
  X(double_, DOUBLE) X(double_complex, DOUBLE_COMPLEX) X(double_int, DOUBLE_INT)                             \
  X(double_precision, DOUBLE_PRECISION) X(float_, FLOAT) X(float_int, FLOAT_INT) X(int16_t, INT16_T)         \
  X(int32_t, INT32_T) X(int64_t, INT64_T) X(int8_t, INT8_T) X(int_, INT) X(integer, INTEGER)                 \
  X(integer1, INTEGER1) X(integer2, INTEGER2) X(integer4, INTEGER4) X(integer8, INTEGER8)                    \
  X(logical, LOGICAL) X(long_, LONG) X(long_double, LONG_DOUBLE) X(long_double_int, LONG_DOUBLE_INT)         \
  X(long_int, LONG_INT) X(long_long, LONG_LONG) X(offset, OFFSET) X(packed, PACKED) X(real, REAL)            \
  X(real4, REAL4) X(real8, REAL8) X(short_, SHORT) X(short_int, SHORT_INT) X(signed_char, SIGNED_CHAR)       \
  X(two_double_precision, 2DOUBLE_PRECISION) X(two_int, 2INT) X(two_integer, 2INTEGER)                       \
  X(two_real, 2REAL) X(uint16_t, UINT16_T) X(uint32_t, UINT32_T) X(uint64_t, UINT64_T)                       \
  X(uint8_t, UINT8_T) X(unsigned_, UNSIGNED) X(unsigned_char, UNSIGNED_CHAR)                                 \
  X(unsigned_long, UNSIGNED_LONG) X(unsigned_long_long, UNSIGNED_LONG_LONG)                                  \
  X(unsigned_short, UNSIGNED_SHORT) X(wchar, WCHAR)
// clang-format on
