// SPDX-License-Identifier: Apache-2.0
// The predefined datatypes and operations, and the kernel of each pair.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "engine/data/element.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

using kernels::Op;
using kernels::Type;

/// The classes of section "Predefined Reduction Operations" of the MPI standard.
enum class Class : std::uint8_t { integer, multi_language, floating, complex, logical, byte, pair, other };

struct Predefined {
  MPI_Datatype handle;
  Class kind;
  Type type;  // for integer, multi_language, floating, complex, logical and byte
  std::size_t size;
};

enum class OpKind : std::uint8_t { kernel, location, other };

struct PredefinedOp {
  MPI_Op handle;
  OpKind kind;
  Op op;
};

/// Predefined handles by value, with open addressing, so that a look-up takes a few nanoseconds.
class HandleTable {
 public:
  void insert(const Predefined& entry) {
    std::size_t slot = hash(entry.handle);
    while (slots_[slot].size != 0 && slots_[slot].handle != entry.handle) slot = (slot + 1) % slots_.size();
    if (slots_[slot].size == 0) slots_[slot] = entry;
  }
  [[nodiscard]] const Predefined* find(MPI_Datatype handle) const {
    for (std::size_t slot = hash(handle); slots_[slot].size != 0; slot = (slot + 1) % slots_.size()) {
      if (slots_[slot].handle == handle) return &slots_[slot];
    }
    return nullptr;
  }

 private:
  static std::size_t hash(MPI_Datatype handle) {
    // Open MPI's handles are addresses of large objects, MPICH's are small numbers with flags above.
    const std::uint64_t value = to_raw(handle);
    return (value * 0x9E3779B97F4A7C15ULL) >> 56;
  }
  std::array<Predefined, 256> slots_{};
};

HandleTable& datatypes() {
  static HandleTable table;
  return table;
}

constinit Immortal<std::vector<PredefinedOp>> operations;

Type integer_type(std::size_t size, bool is_signed) {
  switch (size) {
    case 1:
      return is_signed ? Type::i8 : Type::u8;
    case 2:
      return is_signed ? Type::i16 : Type::u16;
    case 4:
      return is_signed ? Type::i32 : Type::u32;
    default:
      return is_signed ? Type::i64 : Type::u64;
  }
}

void add(MPI_Datatype handle, Class kind, Type type = Type::u8) {
  if (handle == MPI_Datatype{} || handle == mpi.datatype_null) return;  // not in this library
  int size = 0;
  if (mpi.Type_size(handle, &size) != MPI_SUCCESS || size <= 0) return;
  const auto bytes = static_cast<std::size_t>(size);
  const bool has_kernel = kind != Class::pair && kind != Class::other;
  // A library may give a name of the standard another size than the C type of the kernel.
  if (has_kernel && kernels::size_of(type) != bytes) kind = Class::other;
  datatypes().insert({handle, kind, type, bytes});
}

void add_integer(MPI_Datatype handle, bool is_signed, Class kind = Class::integer) {
  if (handle == MPI_Datatype{} || handle == mpi.datatype_null) return;
  int size = 0;
  if (mpi.Type_size(handle, &size) != MPI_SUCCESS) return;
  add(handle, kind, integer_type(static_cast<std::size_t>(size), is_signed));
}

bool defined(Op op, Class kind) {
  switch (op) {
    case Op::max:
    case Op::min:
      return kind == Class::integer || kind == Class::multi_language || kind == Class::floating;
    case Op::sum:
    case Op::prod:
      return kind == Class::integer || kind == Class::multi_language || kind == Class::floating ||
             kind == Class::complex;
    case Op::land:
    case Op::lor:
    case Op::lxor:
      return kind == Class::integer || kind == Class::logical;
    case Op::band:
    case Op::bor:
    case Op::bxor:
      return kind == Class::integer || kind == Class::multi_language || kind == Class::byte;
  }
  return false;
}

}  // namespace

void load_predefined_handles() {
  for (MPI_Datatype handle :
       {mpi.signed_char, mpi.short_, mpi.int_, mpi.long_, mpi.long_long, mpi.int8_t, mpi.int16_t, mpi.int32_t,
        mpi.int64_t, mpi.integer, mpi.integer1, mpi.integer2, mpi.integer4, mpi.integer8}) {
    add_integer(handle, true);
  }
  for (MPI_Datatype handle :
       {mpi.unsigned_char, mpi.unsigned_short, mpi.unsigned_, mpi.unsigned_long, mpi.unsigned_long_long,
        mpi.uint8_t, mpi.uint16_t, mpi.uint32_t, mpi.uint64_t}) {
    add_integer(handle, false);
  }
  for (MPI_Datatype handle : {mpi.aint, mpi.offset, mpi.count})
    add_integer(handle, true, Class::multi_language);
  for (MPI_Datatype handle : {mpi.float_, mpi.real, mpi.real4}) add(handle, Class::floating, Type::f32);
  for (MPI_Datatype handle : {mpi.double_, mpi.double_precision, mpi.real8})
    add(handle, Class::floating, Type::f64);
  add(mpi.long_double, Class::floating, Type::f80);
  for (MPI_Datatype handle : {mpi.c_float_complex, mpi.cxx_float_complex, mpi.complex, mpi.complex8}) {
    add(handle, Class::complex, Type::c32);
  }
  for (MPI_Datatype handle :
       {mpi.c_double_complex, mpi.cxx_double_complex, mpi.double_complex, mpi.complex16}) {
    add(handle, Class::complex, Type::c64);
  }
  for (MPI_Datatype handle : {mpi.c_long_double_complex, mpi.cxx_long_double_complex}) {
    add(handle, Class::complex, Type::c80);
  }
  for (MPI_Datatype handle : {mpi.c_bool, mpi.cxx_bool}) add(handle, Class::logical, Type::boolean);
  add(mpi.byte, Class::byte, Type::u8);
  for (MPI_Datatype handle : {mpi.float_int, mpi.double_int, mpi.long_int, mpi.two_int, mpi.short_int,
                              mpi.long_double_int, mpi.two_real, mpi.two_double_precision, mpi.two_integer}) {
    add(handle, Class::pair);
  }
  // The values of Fortran's LOGICAL depend on the compiler, so the MPI library reduces it. The other types
  // are no numbers.
  for (MPI_Datatype handle : {mpi.logical, mpi.char_, mpi.wchar, mpi.character, mpi.packed})
    add(handle, Class::other);

  operations() = {
      {mpi.sum, OpKind::kernel, Op::sum},      {mpi.prod, OpKind::kernel, Op::prod},
      {mpi.min, OpKind::kernel, Op::min},      {mpi.max, OpKind::kernel, Op::max},
      {mpi.land, OpKind::kernel, Op::land},    {mpi.lor, OpKind::kernel, Op::lor},
      {mpi.lxor, OpKind::kernel, Op::lxor},    {mpi.band, OpKind::kernel, Op::band},
      {mpi.bor, OpKind::kernel, Op::bor},      {mpi.bxor, OpKind::kernel, Op::bxor},
      {mpi.minloc, OpKind::location, Op::min}, {mpi.maxloc, OpKind::location, Op::max},
      {mpi.replace, OpKind::other, Op::sum},   {mpi.no_op, OpKind::other, Op::sum},
  };
}

std::size_t predefined_size(MPI_Datatype datatype) {
  const Predefined* entry = datatypes().find(datatype);
  return entry == nullptr ? 0 : entry->size;
}

Element byte_element() {
  return {.datatype = mpi.byte, .op = mpi.op_null, .size = 1, .extent = 1, .true_extent = 1};
}

int number_of_operation(MPI_Op op) {
  const auto found = std::find_if(operations().begin(), operations().end(),
                                  [op](const PredefinedOp& entry) { return entry.handle == op; });
  return static_cast<int>(found - operations().begin());
}

bool is_program_operation(MPI_Op op) {
  return number_of_operation(op) == static_cast<int>(operations().size());
}

std::string name_of_operation(int number) {
  // The names are in the order of the table.
  constexpr std::array<const char*, 15> names{
      "MPI_SUM",    "MPI_PROD",   "MPI_MIN",     "MPI_MAX",   "MPI_LAND",
      "MPI_LOR",    "MPI_LXOR",   "MPI_BAND",    "MPI_BOR",   "MPI_BXOR",
      "MPI_MINLOC", "MPI_MAXLOC", "MPI_REPLACE", "MPI_NO_OP", "a user-defined operation"};
  return names.at(static_cast<std::size_t>(number));
}

std::optional<Element> find_element(MPI_Datatype datatype, MPI_Op op) {
  const Predefined* type = datatypes().find(datatype);
  const auto operation = std::find_if(operations().begin(), operations().end(),
                                      [op](const PredefinedOp& entry) { return entry.handle == op; });

  Element element{.datatype = datatype, .op = op};
  if (operation != operations().end()) {
    if (type == nullptr) return std::nullopt;
    if (operation->kind == OpKind::kernel && defined(operation->op, type->kind)) {
      element.kernel = kernels::find(type->type, operation->op);
    }
    const bool pair = operation->kind == OpKind::location && type->kind == Class::pair;
    if (element.kernel == nullptr && !pair) return std::nullopt;
    if (element.kernel != nullptr) {
      element.size = element.extent = element.true_extent = static_cast<std::ptrdiff_t>(type->size);
      return element;
    }
  } else {
    if (!mpi.may_be_user_op(op) || (type == nullptr && !mpi.may_be_user_datatype(datatype)))
      return std::nullopt;
    int commutative = 0;
    if (mpi.Op_commutative(op, &commutative) != MPI_SUCCESS) return std::nullopt;
    element.commutative = commutative != 0;
    element.calls_program = true;
  }
  int size = 0;
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  MPI_Aint true_lower_bound = 0;
  MPI_Aint true_extent = 0;
  if (mpi.Type_size(datatype, &size) != MPI_SUCCESS ||
      mpi.Type_get_extent(datatype, &lower_bound, &extent) != MPI_SUCCESS ||
      mpi.Type_get_true_extent(datatype, &true_lower_bound, &true_extent) != MPI_SUCCESS || size < 0) {
    return std::nullopt;
  }
  element.size = size;
  element.extent = extent;
  element.true_lower_bound = true_lower_bound;
  element.true_extent = true_extent;
  return element;
}

}  // namespace stretto
