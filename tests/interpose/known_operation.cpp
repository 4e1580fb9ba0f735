// SPDX-License-Identifier: Apache-2.0
// Operations of the program on two bytes. A kernel replaces an operation that is known by the name and module
// of its function (Horovod's sum of float16), or that the program has registered. Any other operation is
// carried out by its own function, which is called only with data of the ranks. Arguments: a module with
// Horovod's name and function, and another module with the same function.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "check.hpp"

namespace {

long handled = 0;         // elements that the program's functions have seen
long never_sent = 0;      // of these, the elements that no rank has sent
bool is_largest = false;  // what `sum_or_largest` does

float half_value(std::uint16_t bits) {
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}
std::uint16_t half_bits(float value) {
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}
float upper_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}
std::uint16_t upper_bits(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U);
}

using Value = float (*)(std::uint16_t);

/// Small whole numbers, which both types represent exactly.
constexpr int most_sent = 7;
float input(int rank, int i) {
  return static_cast<float>((i + 3 * rank) % (most_sent + 1));
}
bool may_be_sent(float value) {
  return value >= 0 && value <= static_cast<float>(most_sent * size_of(MPI_COMM_WORLD)) &&
         value == std::floor(value);
}

template <Value value, typename Combine>
void each(const void* in, void* inout, int length, Combine combine) {
  handled += length;
  for (int i = 0; i < length; ++i) {
    std::uint16_t left = 0;
    std::uint16_t right = 0;
    std::memcpy(&left, static_cast<const char*>(in) + 2 * i, 2);
    std::memcpy(&right, static_cast<char*>(inout) + 2 * i, 2);
    if (!may_be_sent(value(left)) || !may_be_sent(value(right))) ++never_sent;
    const std::uint16_t result = combine(left, right);
    std::memcpy(static_cast<char*>(inout) + 2 * i, &result, 2);
  }
}

void half_sum(void* in, void* inout, int* length, MPI_Datatype* /*datatype*/) {
  each<half_value>(in, inout, *length,
                   [](auto a, auto b) { return half_bits(half_value(a) + half_value(b)); });
}
void half_largest(void* in, void* inout, int* length, MPI_Datatype* /*datatype*/) {
  each<half_value>(in, inout, *length, [](auto a, auto b) { return half_value(a) < half_value(b) ? b : a; });
}
void upper_sum(void* in, void* inout, int* length, MPI_Datatype* /*datatype*/) {
  each<upper_value>(in, inout, *length,
                    [](auto a, auto b) { return upper_bits(upper_value(a) + upper_value(b)); });
}
void sum_or_largest(void* in, void* inout, int* length, MPI_Datatype* datatype) {
  (is_largest ? half_largest : half_sum)(in, inout, length, datatype);
}

MPI_Datatype uppers = MPI_DATATYPE_NULL;

void sum_by_type(void* in, void* inout, int* length, MPI_Datatype* datatype) {
  (*datatype == uppers ? upper_sum : half_sum)(in, inout, length, datatype);
}

/// The result, and whether the program's function must not be called for it.
struct Expected {
  std::string name;
  Value value = half_value;
  std::uint16_t (*bits)(float) = half_bits;
  bool sums = true;
  bool is_known = false;
};

void run(const Expected& expected, MPI_Op op, MPI_Datatype two_bytes, bool in_place, const long& counter) {
  const int ranks = size_of(MPI_COMM_WORLD);
  const int count = 70'001;
  std::vector<std::uint16_t> mine(count);
  std::vector<std::uint16_t> result(count);
  for (int i = 0; i < count; ++i) mine[static_cast<std::size_t>(i)] = expected.bits(input(world_rank(), i));
  if (in_place) result = mine;
  const long before = counter;
  CHECK(MPI_Allreduce(in_place ? MPI_IN_PLACE : mine.data(), result.data(), count, two_bytes, op,
                      MPI_COMM_WORLD) == MPI_SUCCESS,
        expected.name);
  for (int i = 0; i < count; ++i) {
    float wanted = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const float value = input(rank, i);
      wanted = expected.sums ? wanted + value : (value > wanted ? value : wanted);
    }
    CHECK(expected.value(result[static_cast<std::size_t>(i)]) == wanted, expected.name);
  }
  CHECK(never_sent == 0, expected.name + ": its function got " + std::to_string(never_sent) +
                             " elements that no rank has sent");
  // With some algorithms, a rank has nothing to reduce.
  const long here = counter - before;
  long most = 0;
  MPI_Allreduce(&here, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  CHECK((most == 0) == expected.is_known, expected.name + ": handled " + std::to_string(most));
}

void run(const Expected& expected, MPI_Op op, MPI_Datatype two_bytes) {
  for (const bool in_place : {false, true}) run(expected, op, two_bytes, in_place, handled);
}

MPI_Op make(MPI_User_function* function) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(function, 1, &op);
  return op;
}

MPI_Datatype make_two_bytes() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

/// The program's other operations are not known, whatever they do.
void unknown(MPI_Datatype two_bytes) {
  MPI_Op op = make(half_sum);
  run({.name = "float16 sum"}, op, two_bytes);
  MPI_Op_free(&op);
  op = make(half_largest);
  run({.name = "float16 max", .sums = false}, op, two_bytes);
  MPI_Op_free(&op);
  op = make(upper_sum);
  run({.name = "bfloat16 sum", .value = upper_value, .bits = upper_bits}, op, two_bytes);
  MPI_Op_free(&op);
  is_largest = false;
  op = make(sum_or_largest);
  run({.name = "a sum at first"}, op, two_bytes);
  is_largest = true;
  run({.name = "the largest later", .sums = false}, op, two_bytes);
  MPI_Op_free(&op);
}

/// Tests the function with the name of Horovod's in a module.
void by_name(const char* module, bool is_known, MPI_Datatype two_bytes) {
  void* handle = dlopen(module, RTLD_NOW | RTLD_LOCAL);
  CHECK(handle != nullptr, dlerror());
#ifdef OPEN_MPI
  constexpr const char* name = "_ZN7horovod6common11float16_sumEPvS1_PiPP15ompi_datatype_t";
#elif defined(MPI_ABI)
  constexpr const char* name = "_ZN7horovod6common11float16_sumEPvS1_PiPP16MPI_ABI_Datatype";
#else
  constexpr const char* name = "_ZN7horovod6common11float16_sumEPvS1_PiS2_";
#endif
  auto* function = reinterpret_cast<MPI_User_function*>(dlsym(handle, name));
  CHECK(function != nullptr, name);
  const auto* counter = static_cast<const long*>(dlsym(handle, "handled"));
  MPI_Op op = make(function);
  for (const bool in_place : {false, true})
    run({.name = module, .is_known = is_known}, op, two_bytes, in_place, *counter);
  MPI_Op_free(&op);
}

/// A program registers an operation for one datatype, until either of them is freed.
void by_telling(MPI_Datatype two_bytes) {
  using Know = int (*)(MPI_Op, MPI_Datatype, const char*, const char*);
  const auto know = reinterpret_cast<Know>(dlsym(RTLD_DEFAULT, "stretto_know_operation"));
  CHECK(know != nullptr);
  uppers = make_two_bytes();
  MPI_Op op = make(sum_by_type);
  const Expected halves{.name = "told of"};
  const Expected known_halves{.name = "told of float16", .is_known = true};
  const Expected known_uppers{
      .name = "told of bfloat16", .value = upper_value, .bits = upper_bits, .is_known = true};
  run(halves, op, two_bytes);
  CHECK(know(op, uppers, "bfloat16", "sum") == MPI_SUCCESS);
  run(halves, op, two_bytes);
  run(known_uppers, op, uppers);
  CHECK(know(op, two_bytes, "float16", "sum") == MPI_SUCCESS);
  run(known_halves, op, two_bytes);
  run(known_uppers, op, uppers);
  MPI_Type_free(&uppers);
  uppers = make_two_bytes();
  run({.name = "another type", .value = upper_value, .bits = upper_bits}, op, uppers);
  MPI_Type_free(&uppers);
  MPI_Op_free(&op);
  op = make(half_largest);
  run({.name = "another operation", .sums = false}, op, two_bytes);

  CHECK(know(op, two_bytes, "float32", "sum") == MPI_ERR_ARG);
  CHECK(know(op, two_bytes, "float16", "average") == MPI_ERR_ARG);
  CHECK(know(op, two_bytes, nullptr, nullptr) == MPI_ERR_ARG);
  CHECK(know(op, MPI_FLOAT, "float16", "max") == MPI_ERR_ARG);
  CHECK(know(MPI_SUM, two_bytes, "float16", "sum") == MPI_ERR_ARG);
  CHECK(know(MPI_OP_NULL, two_bytes, "float16", "sum") == MPI_ERR_ARG);
  CHECK(know(op, MPI_DATATYPE_NULL, "float16", "sum") == MPI_ERR_ARG);
  run({.name = "told nothing", .sums = false}, op, two_bytes);
  MPI_Op_free(&op);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  MPI_Datatype two_bytes = make_two_bytes();
  // Each operation is freed before the next one is made, which may get the same handle.
  for (int round = 0; round < 2; ++round) {
    unknown(two_bytes);
    by_name(argv[1], true, two_bytes);
    by_name(argv[2], false, two_bytes);
    by_telling(two_bytes);
  }
  MPI_Type_free(&two_bytes);
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
  return 0;
}
