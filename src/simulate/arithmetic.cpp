// SPDX-License-Identifier: Apache-2.0
#include "simulate/arithmetic.hpp"

#include "simulate/virtual_time.hpp"

namespace stretto::simulate {
namespace {

Arithmetic current;

// NOLINTNEXTLINE(readability-non-const-parameter): MPI_User_function
void operation(void* in, void* inout, int* count, void* /*datatype*/) {
  sum(inout, in, inout, static_cast<std::size_t>(*count));
}

}  // namespace

void set_arithmetic(const Arithmetic& arithmetic) {
  current = arithmetic;
}

void sum(void* into, const void* left, const void* right, std::size_t count) {
  compute(static_cast<double>(count * current.element_size) * current.seconds_per_byte);
  if (current.sum != nullptr) current.sum(into, left, right, count);
}

MPI_Op make_sum_operation() {
  MPI_Op made = mpi.op_null;
  mpi.Op_create(&operation, 1, &made);
  return made;
}

kernels::Type kernel_type(const std::string& name) {
  if (name == "float") return kernels::Type::f32;
  return name == "double" ? kernels::Type::f64 : kernels::Type::i32;
}

}  // namespace stretto::simulate
