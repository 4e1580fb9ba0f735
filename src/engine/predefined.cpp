// SPDX-License-Identifier: Apache-2.0
// The predefined datatypes and operations, and the kernel of each pair.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "engine/element.hpp"
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
  Type type;  // of integer, multi_language, floating, complex, logical and byte
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
    const auto value =
        static_cast<std::uint64_t>((std::uintptr_t)handle);  // NOLINT: int in one ABI, pointer in another
    return (value * 0x9E3779B97F4A7C15ULL) >> 56;
  }
  std::array<Predefined, 256> slots_{};
};

HandleTable& datatypes() {
  static HandleTable table;
  return table;
}

std::vector<PredefinedOp>& operations() {
  static auto& table = make_immortal<std::vector<PredefinedOp>>();
  return table;
}

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

#ifdef STRETTO_ABI_MPICH
/// MPICH's handles contain what they are handles of. So most handles that were freed or never made are
/// recognized without a call to the library, which would raise an error of another call than the user's.
constexpr unsigned mpich_op = 0x6;
constexpr unsigned mpich_datatype = 0x3;
bool is_user_handle(int handle, unsigned object) {
  const auto bits = static_cast<unsigned>(handle);
  constexpr unsigned direct = 2;
  constexpr unsigned indirect = 3;
  const unsigned kind = bits >> 30;
  return (kind == direct || kind == indirect) && ((bits >> 26) & 0xf) == object;
}
bool may_be_user_op(MPI_Op op) {
  return is_user_handle(op, mpich_op);
}
bool may_be_user_datatype(MPI_Datatype datatype) {
  return is_user_handle(datatype, mpich_datatype);
}
#elif defined(STRETTO_ABI_OPENMPI)
bool may_be_user_op(MPI_Op op) {
  return op != nullptr && op != mpi.op_null;
}
bool may_be_user_datatype(MPI_Datatype datatype) {
  return datatype != nullptr && datatype != mpi.datatype_null;
}
#else
/// The standard ABI keeps the numbers of ten bits for what it defines itself.
constexpr std::uintptr_t highest_predefined = 0x3ff;
bool may_be_user_op(MPI_Op op) {
  return reinterpret_cast<std::uintptr_t>(op) > highest_predefined;
}
bool may_be_user_datatype(MPI_Datatype datatype) {
  return reinterpret_cast<std::uintptr_t>(datatype) > highest_predefined;
}
#endif

}  // namespace

void load_predefined_handles() {
  for (MPI_Datatype handle :
       {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T,
        MPI_INT64_T, MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8}) {
    add_integer(handle, true);
  }
  for (MPI_Datatype handle :
       {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG,
        MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T}) {
    add_integer(handle, false);
  }
  for (MPI_Datatype handle : {MPI_AINT, MPI_OFFSET, MPI_COUNT})
    add_integer(handle, true, Class::multi_language);
  for (MPI_Datatype handle : {MPI_FLOAT, MPI_REAL, MPI_REAL4}) add(handle, Class::floating, Type::f32);
  for (MPI_Datatype handle : {MPI_DOUBLE, MPI_DOUBLE_PRECISION, MPI_REAL8})
    add(handle, Class::floating, Type::f64);
  add(MPI_LONG_DOUBLE, Class::floating, Type::f80);
  for (MPI_Datatype handle : {MPI_C_FLOAT_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_COMPLEX, MPI_COMPLEX8}) {
    add(handle, Class::complex, Type::c32);
  }
  for (MPI_Datatype handle :
       {MPI_C_DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX16}) {
    add(handle, Class::complex, Type::c64);
  }
  for (MPI_Datatype handle : {MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX}) {
    add(handle, Class::complex, Type::c80);
  }
  for (MPI_Datatype handle : {MPI_C_BOOL, MPI_CXX_BOOL}) add(handle, Class::logical, Type::boolean);
  add(MPI_BYTE, Class::byte, Type::u8);
  for (MPI_Datatype handle : {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT,
                              MPI_LONG_DOUBLE_INT, MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_2INTEGER}) {
    add(handle, Class::pair);
  }
  // The values of Fortran's LOGICAL depend on the compiler, so the library reduces it. The others are no
  // numbers.
  for (MPI_Datatype handle : {MPI_LOGICAL, MPI_CHAR, MPI_WCHAR, MPI_CHARACTER, MPI_PACKED})
    add(handle, Class::other);

  operations() = {
      {MPI_SUM, OpKind::kernel, Op::sum},      {MPI_PROD, OpKind::kernel, Op::prod},
      {MPI_MIN, OpKind::kernel, Op::min},      {MPI_MAX, OpKind::kernel, Op::max},
      {MPI_LAND, OpKind::kernel, Op::land},    {MPI_LOR, OpKind::kernel, Op::lor},
      {MPI_LXOR, OpKind::kernel, Op::lxor},    {MPI_BAND, OpKind::kernel, Op::band},
      {MPI_BOR, OpKind::kernel, Op::bor},      {MPI_BXOR, OpKind::kernel, Op::bxor},
      {MPI_MINLOC, OpKind::location, Op::min}, {MPI_MAXLOC, OpKind::location, Op::max},
      {MPI_REPLACE, OpKind::other, Op::sum},   {MPI_NO_OP, OpKind::other, Op::sum},
  };
}

std::size_t predefined_size(MPI_Datatype datatype) {
  const Predefined* entry = datatypes().find(datatype);
  return entry == nullptr ? 0 : entry->size;
}

Element byte_element() {
  return {.datatype = MPI_BYTE, .op = mpi.op_null, .size = 1, .extent = 1, .true_extent = 1};
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
  // In the order of the table.
  constexpr std::array<const char*, 15> names{
      "MPI_SUM",    "MPI_PROD",   "MPI_MIN",     "MPI_MAX",   "MPI_LAND",
      "MPI_LOR",    "MPI_LXOR",   "MPI_BAND",    "MPI_BOR",   "MPI_BXOR",
      "MPI_MINLOC", "MPI_MAXLOC", "MPI_REPLACE", "MPI_NO_OP", "an operation of its own"};
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
    if (!may_be_user_op(op) || (type == nullptr && !may_be_user_datatype(datatype))) return std::nullopt;
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
