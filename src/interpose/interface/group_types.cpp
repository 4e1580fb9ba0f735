// SPDX-License-Identifier: Apache-2.0
// The element types and operations of the interface for frameworks.
#include <array>
#include <string>

#include "interpose/handles/short_types.hpp"
#include "interpose/interface/group.hpp"

namespace stretto {
namespace {

using kernels::Op;

struct TypeFacts {
  const char* name;
  LoadedHandle<MPI_Datatype> MpiLibrary::*datatype;  // nullptr: MPI has none
  std::size_t bytes;
  bool has_bits;  // and so bitwise operations
};

/// [stretto_type]
constexpr std::array<TypeFacts, 10> types{{
    {"int8", &MpiLibrary::int8_t, 1, true},
    {"uint8", &MpiLibrary::uint8_t, 1, true},
    {"int16", &MpiLibrary::int16_t, 2, true},
    {"int32", &MpiLibrary::int32_t, 4, true},
    {"int64", &MpiLibrary::int64_t, 8, true},
    {"float16", nullptr, 2, false},
    {"bfloat16", nullptr, 2, false},
    {"float32", &MpiLibrary::float_, 4, false},
    {"float64", &MpiLibrary::double_, 8, false},
    {"bool", &MpiLibrary::c_bool, 1, true},
}};

struct OpFacts {
  const char* name;
  LoadedHandle<MPI_Op> MpiLibrary::*op;
  LoadedHandle<MPI_Op> MpiLibrary::*of_booleans;
  Op of_short_floats;  // of those that are not bitwise
};

/// [stretto_op]
constexpr std::array<OpFacts, 7> ops{{
    {"sum", &MpiLibrary::sum, &MpiLibrary::lor, Op::sum},
    {"product", &MpiLibrary::prod, &MpiLibrary::land, Op::prod},
    {"min", &MpiLibrary::min, &MpiLibrary::land, Op::min},
    {"max", &MpiLibrary::max, &MpiLibrary::lor, Op::max},
    {"bitwise and", &MpiLibrary::band, &MpiLibrary::land, Op::band},
    {"bitwise or", &MpiLibrary::bor, &MpiLibrary::lor, Op::bor},
    {"bitwise xor", &MpiLibrary::bxor, &MpiLibrary::lxor, Op::bxor},
}};

}  // namespace

bool find_reduction(stretto_type type, stretto_op op, Reduction& reduction) {
  const auto t = static_cast<std::size_t>(type);
  const auto o = static_cast<std::size_t>(op);
  if (t >= types.size() || o >= ops.size()) {
    set_error("there is no type " + std::to_string(t) + " or no operation " + std::to_string(o));
    return false;
  }
  const TypeFacts& its_type = types[t];
  const OpFacts& its_op = ops[o];
  if (op >= STRETTO_BAND && !its_type.has_bits) {
    set_error(std::string("there is no ") + its_op.name + " of " + its_type.name);
    return false;
  }
  if (its_type.datatype == nullptr) {
    const auto short_type = type == STRETTO_FLOAT16 ? kernels::Type::f16 : kernels::Type::bf16;
    reduction = {short_datatype(), short_operation(short_type, its_op.of_short_floats), its_type.bytes};
  } else {
    reduction = {mpi.*its_type.datatype, mpi.*(type == STRETTO_BOOL ? its_op.of_booleans : its_op.op),
                 its_type.bytes};
  }
  return true;
}

}  // namespace stretto
