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
      return MPI_LOR;
    case STRETTO_PRODUCT:
    case STRETTO_MIN:
    case STRETTO_BAND:
      return MPI_LAND;
    case STRETTO_BXOR:
      return MPI_LXOR;
  }
  return mpi.op_null;
}

MPI_Op find_arithmetic(stretto_op op) {
  switch (op) {
    case STRETTO_SUM:
      return MPI_SUM;
    case STRETTO_PRODUCT:
      return MPI_PROD;
    case STRETTO_MIN:
      return MPI_MIN;
    case STRETTO_MAX:
      return MPI_MAX;
    case STRETTO_BAND:
      return MPI_BAND;
    case STRETTO_BOR:
      return MPI_BOR;
    case STRETTO_BXOR:
      return MPI_BXOR;
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
    reduction = {MPI_C_BOOL, find_logical(op), 1};
    return true;
  }
  const auto make = [&](MPI_Datatype datatype, std::size_t bytes) {
    reduction = {datatype, find_arithmetic(op), bytes};
    return true;
  };
  switch (type) {
    case STRETTO_INT8:
      return make(MPI_INT8_T, 1);
    case STRETTO_UINT8:
      return make(MPI_UINT8_T, 1);
    case STRETTO_INT16:
      return make(MPI_INT16_T, 2);
    case STRETTO_INT32:
      return make(MPI_INT32_T, 4);
    case STRETTO_INT64:
      return make(MPI_INT64_T, 8);
    case STRETTO_FLOAT32:
      return make(MPI_FLOAT, 4);
    default:
      return make(MPI_DOUBLE, 8);
  }
}

}  // namespace stretto
