// SPDX-License-Identifier: Apache-2.0
// Every predefined datatype with every predefined operation, including those that MPI does not define:
// Stretto must do what the library does. Integers bitwise; floats within rounding, with the same bits on
// all ranks.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "check.hpp"
#include "each.hpp"

namespace {

enum class Kind { integer, f32, f64, f80, boolean };
struct Field {
  Kind kind;
  std::size_t offset;
  std::size_t bytes;  // that carry the value: 10 of a long double's 16
};
struct Type {
  const char* name;
  MPI_Datatype handle;
  std::size_t extent;
  std::vector<Field> fields;
  bool is_unsigned = false;
  bool is_pair = false;
  [[nodiscard]] Kind kind() const { return fields[0].kind; }
};
struct Operation {
  const char* name;
  MPI_Op handle;
};

template <typename T>
Type integer(const char* name, MPI_Datatype handle) {
  return {name, handle, sizeof(T), {{Kind::integer, 0, sizeof(T)}}, std::is_unsigned_v<T>};
}
Type floating(const char* name, MPI_Datatype handle, Kind kind, std::size_t size, std::size_t numbers) {
  Type type{name, handle, size * numbers, {}};
  for (std::size_t i = 0; i < numbers; ++i)
    type.fields.push_back({kind, i * size, kind == Kind::f80 ? 10 : size});
  return type;
}
template <typename T>
Type pair(const char* name, MPI_Datatype handle, Kind kind) {
  struct Pair {
    T value;
    int index;
  };
  return {
      name,
      handle,
      sizeof(Pair),
      {{kind, 0, kind == Kind::f80 ? 10 : sizeof(T)}, {Kind::integer, offsetof(Pair, index), sizeof(int)}},
      false,
      true};
}

#define INTEGER(T, handle) integer<T>(#handle, handle)
std::vector<Type> all_types() {
  using L = long double;
  return {INTEGER(signed char, MPI_SIGNED_CHAR),
          INTEGER(short, MPI_SHORT),
          INTEGER(int, MPI_INT),
          INTEGER(long, MPI_LONG),
          INTEGER(long long, MPI_LONG_LONG),
          INTEGER(unsigned char, MPI_UNSIGNED_CHAR),
          INTEGER(unsigned short, MPI_UNSIGNED_SHORT),
          INTEGER(unsigned, MPI_UNSIGNED),
          INTEGER(unsigned long, MPI_UNSIGNED_LONG),
          INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG),
          INTEGER(std::int8_t, MPI_INT8_T),
          INTEGER(std::int16_t, MPI_INT16_T),
          INTEGER(std::int32_t, MPI_INT32_T),
          INTEGER(std::int64_t, MPI_INT64_T),
          INTEGER(std::uint8_t, MPI_UINT8_T),
          INTEGER(std::uint16_t, MPI_UINT16_T),
          INTEGER(std::uint32_t, MPI_UINT32_T),
          INTEGER(std::uint64_t, MPI_UINT64_T),
          INTEGER(MPI_Aint, MPI_AINT),
          INTEGER(MPI_Offset, MPI_OFFSET),
          INTEGER(MPI_Count, MPI_COUNT),
          INTEGER(char, MPI_BYTE),
          INTEGER(char, MPI_CHAR),
          INTEGER(wchar_t, MPI_WCHAR),
          {"MPI_C_BOOL", MPI_C_BOOL, 1, {{Kind::boolean, 0, 1}}},
          floating("MPI_FLOAT", MPI_FLOAT, Kind::f32, sizeof(float), 1),
          floating("MPI_DOUBLE", MPI_DOUBLE, Kind::f64, sizeof(double), 1),
          floating("MPI_LONG_DOUBLE", MPI_LONG_DOUBLE, Kind::f80, sizeof(L), 1),
          floating("MPI_C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, Kind::f32, sizeof(float), 2),
          floating("MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, Kind::f64, sizeof(double), 2),
          floating("MPI_C_LONG_DOUBLE_COMPLEX", MPI_C_LONG_DOUBLE_COMPLEX, Kind::f80, sizeof(L), 2),
          pair<float>("MPI_FLOAT_INT", MPI_FLOAT_INT, Kind::f32),
          pair<double>("MPI_DOUBLE_INT", MPI_DOUBLE_INT, Kind::f64),
          pair<long>("MPI_LONG_INT", MPI_LONG_INT, Kind::integer),
          pair<int>("MPI_2INT", MPI_2INT, Kind::integer),
          pair<short>("MPI_SHORT_INT", MPI_SHORT_INT, Kind::integer),
          pair<L>("MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT, Kind::f80)};
}
#undef INTEGER
const std::vector<Operation>& all_operations() {
#define OPERATION(handle) \
  { #handle, handle }
  static const std::vector<Operation> operations{
      OPERATION(MPI_SUM),  OPERATION(MPI_PROD), OPERATION(MPI_MIN),    OPERATION(MPI_MAX),
      OPERATION(MPI_LAND), OPERATION(MPI_LOR),  OPERATION(MPI_LXOR),   OPERATION(MPI_BAND),
      OPERATION(MPI_BOR),  OPERATION(MPI_BXOR), OPERATION(MPI_MINLOC), OPERATION(MPI_MAXLOC)};
#undef OPERATION
  return operations;
}

template <typename T>
void put(char* into, T value) {
  std::memcpy(into, &value, sizeof(T) == 16 ? 10 : sizeof(T));
}
template <typename T>
long double get(const char* from) {
  T value{};
  std::memcpy(&value, from, sizeof(T) == 16 ? 10 : sizeof(T));
  return value;
}

void fill(char* buffer, const Type& type, std::size_t count, Random& random, bool special) {
  const double specials[] = {0.0, -0.0, std::numeric_limits<double>::quiet_NaN(), 1.5};
  for (std::size_t i = 0; i < count; ++i) {
    for (const Field& field : type.fields) {
      char* into = buffer + i * type.extent + field.offset;
      const std::uint64_t bits = random.next();
      const double real = special ? specials[bits % 4] : 0.5 + random.real();
      switch (field.kind) {
        // Few different values, so that MINLOC and MAXLOC meet equal ones.
        case Kind::integer:
          std::memcpy(into, &bits, field.bytes);
          if (type.fields.size() == 2) *into &= 3;
          break;
        case Kind::f32:
          put(into, static_cast<float>(real));
          break;
        case Kind::f64:
          put(into, real);
          break;
        case Kind::f80:
          put(into, static_cast<long double>(real));
          break;
        case Kind::boolean:
          put(into, (bits & 1) != 0);
          break;
      }
    }
  }
}

bool same(const char* left, const char* right, const Field& field, int ranks) {
  long double a = 0;
  long double b = 0;
  long double epsilon = std::numeric_limits<double>::epsilon();
  switch (field.kind) {
    case Kind::integer:
    case Kind::boolean:
      return std::memcmp(left, right, field.bytes) == 0;
    case Kind::f32:
      a = get<float>(left), b = get<float>(right), epsilon = std::numeric_limits<float>::epsilon();
      break;
    case Kind::f64:
      a = get<double>(left), b = get<double>(right);
      break;
    case Kind::f80:
      a = get<long double>(left), b = get<long double>(right);
      break;
  }
  // Terms of products of complex numbers are below 2^(2 ranks).
  return std::fabs(a - b) <=
         epsilon * static_cast<long double>(ranks) * std::max(1.0L, std::pow(4.0L, ranks));
}

/// The smaller or larger of two integers of any size below 16.
bool before(const char* left, const char* right, const Type& type) {
  const std::size_t shift = 8 * (sizeof(std::uint64_t) - type.extent);
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::memcpy(&a, left, type.extent);
  std::memcpy(&b, right, type.extent);
  if (type.is_unsigned) return a < b;
  return static_cast<std::int64_t>(a << shift) < static_cast<std::int64_t>(b << shift);
}

/// Whether MPI defines the operation on the type.
bool defined(const Type& type, const Operation& operation) {
  const auto is_one_of = [](auto handle, auto... handles) { return ((handle == handles) || ...); };
  const MPI_Op op = operation.handle;
  const bool integer = type.kind() == Kind::integer;
  const bool location = is_one_of(op, MPI_MINLOC, MPI_MAXLOC);
  if (location || type.is_pair) return location && type.is_pair;
  const bool logical = is_one_of(op, MPI_LAND, MPI_LOR, MPI_LXOR);
  const bool bitwise = is_one_of(op, MPI_BAND, MPI_BOR, MPI_BXOR);
  if (type.handle == MPI_BYTE) return bitwise;
  if (type.handle == MPI_CHAR || type.handle == MPI_WCHAR) return false;
  if (type.kind() == Kind::boolean) return logical;
  if (type.fields.size() == 2) return !integer && is_one_of(op, MPI_SUM, MPI_PROD);
  const bool of_mpi = is_one_of(type.handle, MPI_AINT, MPI_OFFSET, MPI_COUNT);
  return integer ? !(of_mpi && logical) : !logical && !bitwise;
}

/// Both libraries' own MIN and MAX may treat unsigned types as signed, so these are computed here.
bool worked_out_here(const Type& type, const Operation& op) {
  const bool plain = type.fields.size() == 1 && type.kind() == Kind::integer;
  return !library_reduces() && plain && defined(type, op) && (op.handle == MPI_MIN || op.handle == MPI_MAX);
}

/// MPICH 4.0 aborts in some that MPI does not define, instead of returning an error.
bool may_abort([[maybe_unused]] const Type& type, [[maybe_unused]] const Operation& op) {
#ifdef OPEN_MPI
  return false;
#else
  return !defined(type, op);
#endif
}

class Sweep {
 public:
  void run(const Type& type, const Operation& op, std::size_t count, bool in_place, bool special) {
    const std::string what = std::string(type.name) + " " + op.name + " count " + std::to_string(count) +
                             (in_place ? " in place" : "") + (special ? " special values" : "");
    ++runs_;
    Random random(seed(world_rank()));
    constexpr std::size_t margin = 64;
    std::vector<char> input(2 * margin + count * type.extent, '\x5a');
    fill(input.data() + margin, type, count, random, special);
    const std::vector<char> original = input;
    std::vector<char> output = in_place ? input : std::vector<char>(input.size(), '\x5a');
    std::vector<char> expected = output;
    const void* from = in_place ? MPI_IN_PLACE : input.data() + margin;
    const int n = static_cast<int>(count);
    const int wanted =
        LIBRARY(PMPI_Allreduce)(from, expected.data() + margin, n, type.handle, op.handle, MPI_COMM_WORLD);
    const int got = MPI_Allreduce(from, output.data() + margin, n, type.handle, op.handle, MPI_COMM_WORLD);
    CHECK(error_class(wanted) == error_class(got), what);
    CHECK(input == original, what);
    if (wanted != MPI_SUCCESS) return;

    if (worked_out_here(type, op)) expected = extremes(type, count, margin, op.handle == MPI_MAX);
    std::uint64_t bits = 0xcbf29ce484222325ULL;
    std::vector<char> rest = output;
    for (std::size_t i = 0; i < count; ++i) {
      for (const Field& field : type.fields) {
        const std::size_t at = margin + i * type.extent + field.offset;
        CHECK(special || same(&expected[at], &output[at], field, size_of(MPI_COMM_WORLD)), what);
        bits = hash(bits, &output[at], field.bytes);
        // The padding of a long double depends on the compiler.
        std::memset(&rest[at], 0x5a, field.kind == Kind::f80 ? sizeof(long double) : field.bytes);
      }
    }
    // The library may write to the gaps of its own results.
    const auto untouched = [&](char c) { return c == '\x5a'; };
    if (!library_reduces()) CHECK(std::all_of(rest.begin(), rest.end(), untouched), what);
    CHECK(std::all_of(output.begin(), output.begin() + margin, untouched), what);
    CHECK(std::all_of(output.end() - margin, output.end(), untouched), what);
    hashes_.push_back(bits);
    names_.push_back(what);
  }

  void compare_ranks() {
    std::vector<std::uint64_t> root = hashes_;
    PMPI_Bcast(root.data(), static_cast<int>(root.size()), MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < root.size(); ++i) CHECK(root[i] == hashes_[i], names_[i]);
    CHECK(root.size() > 300, std::to_string(root.size()));
  }

 private:
  [[nodiscard]] std::uint64_t seed(int rank) const { return 1000 * runs_ + static_cast<std::uint64_t>(rank); }

  /// The MIN or MAX over the inputs of all ranks.
  [[nodiscard]] std::vector<char> extremes(const Type& type, std::size_t count, std::size_t margin,
                                           bool maximum) const {
    std::vector<char> result(2 * margin + count * type.extent);
    std::vector<char> other = result;
    for (int rank = 0; rank < size_of(MPI_COMM_WORLD); ++rank) {
      Random random(seed(rank));
      fill(other.data() + margin, type, count, random, false);
      for (std::size_t at = margin; at + margin < result.size(); at += type.extent) {
        const bool better =
            maximum ? before(&result[at], &other[at], type) : before(&other[at], &result[at], type);
        if (rank == 0 || better) std::memcpy(&result[at], &other[at], type.extent);
      }
    }
    return result;
  }

  std::uint64_t runs_ = 0;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::string> names_;
};

void run_all() {
  const auto ranks = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
  const std::size_t counts[] = {0, 1, ranks - 1, ranks, ranks + 1, 67};
  Sweep sweep;
  std::size_t turn = 0;
  for (const Type& type : all_types()) {
    for (const Operation& op : all_operations()) {
      // Each pair of type and operation gets two of the shapes, and every type gets all shapes.
      ++turn;
      if (may_abort(type, op)) continue;
      sweep.run(type, op, 1000, turn % 2 == 0, false);
      sweep.run(type, op, counts[turn % 6], turn / 6 % 2 == 0, false);
      const bool bitwise_floats = op.handle == MPI_MIN || op.handle == MPI_MAX;
      const bool real = type.fields.size() == 1 && type.fields[0].kind != Kind::integer;
      if (bitwise_floats && real && !library_reduces()) sweep.run(type, op, 1000, turn % 2 == 1, true);
    }
  }
  sweep.compare_ranks();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  under_each_spec(argc, argv, run_all);
  MPI_Finalize();
}
