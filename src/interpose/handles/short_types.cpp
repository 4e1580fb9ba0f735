// SPDX-License-Identifier: Apache-2.0
#include "interpose/handles/short_types.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "interpose/handles/known_operation.hpp"

namespace stretto {
namespace {

MPI_Datatype datatype{};

/// The order in which `own_ops` has the types, and the operations of each type.
constexpr std::array<kernels::Type, 2> short_types{kernels::Type::f16, kernels::Type::bf16};
constexpr std::array<kernels::Op, 4> short_ops{kernels::Op::sum, kernels::Op::prod, kernels::Op::min,
                                               kernels::Op::max};
std::array<std::array<MPI_Op, short_ops.size()>, short_types.size()> own_ops{};

// An MPI_User_function.
template <kernels::Type type, kernels::Op op>
// NOLINTNEXTLINE(readability-non-const-parameter)
void reduce_short(void* in, void* inout, int* length, void* /*its_datatype*/) {
  kernels::find(type, op)(inout, in, inout, static_cast<std::size_t>(*length));
}

template <std::size_t type, std::size_t op>
void make_short_op() {
  constexpr auto the_type = short_types[type];
  constexpr auto the_op = short_ops[op];
  mpi.Op_create(&reduce_short<the_type, the_op>, 1, &own_ops[type][op]);
  know_operation(own_ops[type][op], datatype, kernels::find(the_type, the_op));
}

template <std::size_t type>
void make_short_ops() {
  make_short_op<type, 0>();
  make_short_op<type, 1>();
  make_short_op<type, 2>();
  make_short_op<type, 3>();
}

}  // namespace

void make_short_types() {
  mpi.Type_contiguous(2, mpi.byte, &datatype);
  mpi.Type_commit(&datatype);
  make_short_ops<0>();
  make_short_ops<1>();
}

void free_short_types() {
  for (auto& ops : own_ops) {
    for (MPI_Op& op : ops) {
      forget_operation(op);
      mpi.Op_free(&op);
    }
  }
  mpi.Type_free(&datatype);
}

MPI_Datatype short_datatype() {
  return datatype;
}

MPI_Op short_operation(kernels::Type type, kernels::Op op) {
  const auto index_in = [](const auto& all, auto one) {
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), one) - all.begin());
  };
  return own_ops.at(index_in(short_types, type)).at(index_in(short_ops, op));
}

bool is_short_operation(MPI_Op op) {
  return std::any_of(own_ops.begin(), own_ops.end(),
                     [op](const auto& ops) { return std::find(ops.begin(), ops.end(), op) != ops.end(); });
}

}  // namespace stretto
