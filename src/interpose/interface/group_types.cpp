// SPDX-License-Identifier: Apache-2.0
// The element types and operations of the interface for frameworks.
#include <array>
#include <string>

#include "interpose/handles/short_types.hpp"
#include "interpose/interface/group.hpp"

namespace stretto {
namespace {

constexpr std::array<const char*, 10> type_names{"int8",    "uint8",    "int16",   "int32",   "int64",
                                                 "float16", "bfloat16", "float32", "float64", "bool"};
constexpr std::array<const char*, 7> op_names{"sum",         "product",    "min",        "max",
                                              "bitwise and", "bitwise or", "bitwise xor"};

constexpr std::array<kernels::Op, 4> arithmetic_ops{kernels::Op::sum, kernels::Op::prod, kernels::Op::min,
                                                    kernels::Op::max};

MPI_Op find_logical(stretto_op op) {
  switch (op) {
    case STRETTO_SUM:
    case STRETTO_MAX:
    case STRETTO_BOR:
      return mpi.lor;
    case STRETTO_PRODUCT:
    case STRETTO_MIN:
    case STRETTO_BAND:
      return mpi.land;
    case STRETTO_BXOR:
      return mpi.lxor;
  }
  return mpi.op_null;
}

MPI_Op find_arithmetic(stretto_op op) {
  switch (op) {
    case STRETTO_SUM:
      return mpi.sum;
    case STRETTO_PRODUCT:
      return mpi.prod;
    case STRETTO_MIN:
      return mpi.min;
    case STRETTO_MAX:
      return mpi.max;
    case STRETTO_BAND:
      return mpi.band;
    case STRETTO_BOR:
      return mpi.bor;
    case STRETTO_BXOR:
      return mpi.bxor;
  }
  return mpi.op_null;
}

}  // namespace

bool find_reduction(stretto_type type, stretto_op op, Reduction& reduction) {
  const auto t = static_cast<std::size_t>(type);
  const auto o = static_cast<std::size_t>(op);
  if (t >= type_names.size() || o >= op_names.size()) {
    set_error("there is no type " + std::to_string(t) + " or no operation " + std::to_string(o));
    return false;
  }
  const bool is_bitwise = op == STRETTO_BAND || op == STRETTO_BOR || op == STRETTO_BXOR;
  const bool is_short = type == STRETTO_FLOAT16 || type == STRETTO_BFLOAT16;
  if (is_bitwise && (is_short || type == STRETTO_FLOAT32 || type == STRETTO_FLOAT64)) {
    set_error(std::string("there is no ") + op_names[o] + " of " + type_names[t]);
    return false;
  }
  if (is_short) {
    const auto short_type = type == STRETTO_FLOAT16 ? kernels::Type::f16 : kernels::Type::bf16;
    reduction = {short_datatype(), short_operation(short_type, arithmetic_ops[o]), 2};
    return true;
  }
  if (type == STRETTO_BOOL) {
    reduction = {mpi.c_bool, find_logical(op), 1};
    return true;
  }
  const auto make = [&](MPI_Datatype datatype, std::size_t bytes) {
    reduction = {datatype, find_arithmetic(op), bytes};
    return true;
  };
  switch (type) {
    case STRETTO_INT8:
      return make(mpi.int8_t, 1);
    case STRETTO_UINT8:
      return make(mpi.uint8_t, 1);
    case STRETTO_INT16:
      return make(mpi.int16_t, 2);
    case STRETTO_INT32:
      return make(mpi.int32_t, 4);
    case STRETTO_INT64:
      return make(mpi.int64_t, 8);
    case STRETTO_FLOAT32:
      return make(mpi.float_, 4);
    default:
      return make(mpi.double_, 8);
  }
}

}  // namespace stretto
