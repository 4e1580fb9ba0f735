// SPDX-License-Identifier: Apache-2.0
// An operation of the program on two bytes, as Horovod has it for float16: where it is a sum of float16, its
// function is called for probes only, and the result is the same; where it is anything else, it does it all.
// One function may do both, by the datatype.
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "check.hpp"

namespace {

long handled = 0;  // elements that the program's functions have seen

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

template <typename Combine>
void each(const void* in, void* inout, int length, Combine combine) {
  handled += length;
  for (int i = 0; i < length; ++i) {
    std::uint16_t left = 0;
    std::uint16_t right = 0;
    std::memcpy(&left, static_cast<const char*>(in) + 2 * i, 2);
    std::memcpy(&right, static_cast<char*>(inout) + 2 * i, 2);
    const std::uint16_t result = combine(left, right);
    std::memcpy(static_cast<char*>(inout) + 2 * i, &result, 2);
  }
}

void half_sum(void* in, void* inout, int* length, MPI_Datatype* /*datatype*/) {
  each(in, inout, *length, [](auto a, auto b) { return half_bits(half_value(a) + half_value(b)); });
}
void half_largest(void* in, void* inout, int* length, MPI_Datatype* /*datatype*/) {
  each(in, inout, *length, [](auto a, auto b) { return half_value(a) < half_value(b) ? b : a; });
}
void upper_sum(void* in, void* inout, int* length, MPI_Datatype* /*datatype*/) {
  each(in, inout, *length, [](auto a, auto b) { return upper_bits(upper_value(a) + upper_value(b)); });
}

MPI_Datatype uppers = MPI_DATATYPE_NULL;

void sum_by_type(void* in, void* inout, int* length, MPI_Datatype* datatype) {
  (*datatype == uppers ? upper_sum : half_sum)(in, inout, length, datatype);
}

struct Operation {
  const char* name;
  MPI_User_function* function;
  float (*value)(std::uint16_t);
  std::uint16_t (*bits)(float);
  bool sums;
  bool is_known;  // to Stretto
};

const Operation operations[] = {
    {"float16 sum", half_sum, half_value, half_bits, true, true},
    {"float16 max", half_largest, half_value, half_bits, false, false},
    {"bfloat16 sum", upper_sum, upper_value, upper_bits, true, false},
};

/// Small whole numbers, which both types hold exactly.
float input(int rank, int i) {
  return static_cast<float>((i + 3 * rank) % 8);
}

void run(const Operation& operation, MPI_Op op, MPI_Datatype two_bytes, bool in_place) {
  const int ranks = size_of(MPI_COMM_WORLD);
  const int count = 70'001;
  std::vector<std::uint16_t> mine(count);
  std::vector<std::uint16_t> result(count);
  for (int i = 0; i < count; ++i) mine[static_cast<std::size_t>(i)] = operation.bits(input(world_rank(), i));
  if (in_place) result = mine;
  handled = 0;
  CHECK(MPI_Allreduce(in_place ? MPI_IN_PLACE : mine.data(), result.data(), count, two_bytes, op,
                      MPI_COMM_WORLD) == MPI_SUCCESS,
        operation.name);
  for (int i = 0; i < count; ++i) {
    float wanted = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const float value = input(rank, i);
      wanted = operation.sums ? wanted + value : (value > wanted ? value : wanted);
    }
    CHECK(operation.value(result[static_cast<std::size_t>(i)]) == wanted, operation.name);
  }
  // Some algorithms leave a rank nothing to reduce.
  long most = 0;
  MPI_Allreduce(&handled, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  CHECK((most < 1000) == operation.is_known,
        operation.name + std::string(": handled ") + std::to_string(most));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Datatype two_bytes = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_BYTE, &two_bytes);
  MPI_Type_commit(&two_bytes);
  // Each is freed before the next one is made, which may get its handle.
  for (int round = 0; round < 3; ++round) {
    for (const Operation& operation : operations) {
      MPI_Op op = MPI_OP_NULL;
      MPI_Op_create(operation.function, 1, &op);
      for (const bool in_place : {false, true}) run(operation, op, two_bytes, in_place);
      MPI_Op_free(&op);
    }
  }
  MPI_Type_contiguous(2, MPI_BYTE, &uppers);
  MPI_Type_commit(&uppers);
  MPI_Op by_type = MPI_OP_NULL;
  MPI_Op_create(sum_by_type, 1, &by_type);
  for (int round = 0; round < 2; ++round) {
    run(operations[0], by_type, two_bytes, false);
    run(operations[2], by_type, uppers, false);
  }
  MPI_Op_free(&by_type);
  MPI_Type_free(&uppers);
  MPI_Type_free(&two_bytes);
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
  return 0;
}
