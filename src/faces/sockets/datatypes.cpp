// SPDX-License-Identifier: Apache-2.0
// Datatypes and operations. The core makes no datatypes with gaps unless the program has some.
#include "faces/sockets/functions.hpp"

namespace stretto::faces::sockets {

int Functions::Type_contiguous(int count, MPI_Datatype of, MPI_Datatype* made) {
  *made = new OpaqueDatatype{.bytes = static_cast<std::size_t>(count) * of->bytes};
  return MPI_SUCCESS;
}

int Functions::Type_create_struct(int count, const int* counts, const MPI_Aint* places,
                                  const MPI_Datatype* types, MPI_Datatype* made) {
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    if (places[i] != static_cast<MPI_Aint>(bytes)) return Error::unsupported;
    bytes += static_cast<std::size_t>(counts[i]) * types[i]->bytes;
  }
  *made = new OpaqueDatatype{.bytes = bytes};
  return MPI_SUCCESS;
}

int Functions::Type_commit(MPI_Datatype* /*type*/) {
  return MPI_SUCCESS;
}

int Functions::Type_free(MPI_Datatype* type) {
  if (!(*type)->is_predefined) delete *type;
  *type = nullptr;
  return MPI_SUCCESS;
}

int Functions::Type_size(MPI_Datatype type, int* size) {
  *size = static_cast<int>(type->bytes);
  return MPI_SUCCESS;
}

int Functions::Type_size_x(MPI_Datatype type, MPI_Count* size) {
  *size = static_cast<MPI_Count>(type->bytes);
  return MPI_SUCCESS;
}

int Functions::Type_get_extent(MPI_Datatype type, MPI_Aint* lower_bound, MPI_Aint* extent) {
  *lower_bound = 0;
  *extent = static_cast<MPI_Aint>(type->bytes);
  return MPI_SUCCESS;
}

int Functions::Type_get_true_extent(MPI_Datatype type, MPI_Aint* lower_bound, MPI_Aint* extent) {
  return Type_get_extent(type, lower_bound, extent);
}

int Functions::Op_create(MPI_User_function* function, int is_commutative, MPI_Op* made) {
  *made = new OpaqueOp{.function = function, .is_commutative = is_commutative != 0};
  return MPI_SUCCESS;
}

int Functions::Op_free(MPI_Op* op) {
  delete *op;
  *op = nullptr;
  return MPI_SUCCESS;
}

int Functions::Op_commutative(MPI_Op op, int* is_commutative) {
  *is_commutative = op->is_commutative ? 1 : 0;
  return MPI_SUCCESS;
}

int Functions::Reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op) {
  if (op->function != nullptr) {
    MPI_Datatype handle = type;
    op->function(const_cast<void*>(in), inout, &count, static_cast<void*>(&handle));
    return MPI_SUCCESS;
  }
  const kernels::Function kernel = type->is_predefined ? kernels::find(type->type, op->op) : nullptr;
  if (kernel == nullptr) return Error::unsupported;
  kernel(inout, in, inout, static_cast<std::size_t>(count));
  return MPI_SUCCESS;
}

}  // namespace stretto::faces::sockets
