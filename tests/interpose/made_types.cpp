// SPDX-License-Identifier: Apache-2.0
// Derived datatypes that Stretto inspects: made with large counts, by duplication, or from Fortran's types of
// a precision. Results are right, and no handle leaks.
#include <malloc.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <vector>

#include "check.hpp"

namespace {

using Number = std::uint16_t;

void add(void* in, void* inout, int* length, MPI_Datatype* /*datatype*/) {
  for (int i = 0; i < *length; ++i) {
    auto& into = static_cast<Number*>(inout)[i];
    into = static_cast<Number>(into + static_cast<Number*>(in)[i]);
  }
}

MPI_Datatype duplicate(MPI_Datatype of) {
  MPI_Datatype made{};
  MPI_Type_dup(of, &made);
  return made;
}

MPI_Datatype row(int count, MPI_Datatype of) {
  MPI_Datatype made{};
  MPI_Type_contiguous(count, of, &made);
  return made;
}

MPI_Datatype large_row(int count, MPI_Datatype of) {
#ifdef OPEN_MPI
  return row(count, of);
#else
  MPI_Datatype made{};
  MPI_Type_contiguous_c(count, of, &made);
  return made;
#endif
}

/// Handles are numbered, and a number is reused when its handle has been freed. (Open MPI numbers a handle
/// when asked for the number.)
MPI_Fint largest_number = INT_MIN;
void note_number(MPI_Datatype type) {
  largest_number = std::max(largest_number, MPI_Type_c2f(type));
}

/// Returns a type of two bytes, made in several steps. Only the last type is kept.
MPI_Datatype two_bytes(int kind) {
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  switch (kind) {
    case 0:
      return row(2, MPI_BYTE);
    case 1:
      return large_row(2, MPI_BYTE);
    case 2:
      inner = duplicate(MPI_UINT16_T);
      made = row(1, inner);
      break;
    case 3:
      inner = large_row(2, MPI_BYTE);
      made = large_row(1, inner);
      break;
    default:
      inner = row(2, MPI_BYTE);
      made = duplicate(inner);
  }
  note_number(inner);
  MPI_Type_free(&inner);
  return made;
}
constexpr int kinds = 5;

constexpr int count = 1000;

Number input(int rank, int i) {
  return static_cast<Number>(7 * i + rank);
}

std::vector<Number> inputs(int rank) {
  std::vector<Number> all(count);
  for (int i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = input(rank, i);
  return all;
}

void use(MPI_Datatype type, MPI_Op op, const std::string& what) {
  const int ranks = size_of(MPI_COMM_WORLD);
  const std::vector<Number> mine = inputs(world_rank());
  std::vector<Number> sum(count);
  CHECK(MPI_Allreduce(mine.data(), sum.data(), count, type, op, MPI_COMM_WORLD) == MPI_SUCCESS, what);
  for (int i = 0; i < count; ++i) {
    const auto wanted = static_cast<Number>(7 * i * ranks + ranks * (ranks - 1) / 2);
    CHECK(sum[static_cast<std::size_t>(i)] == wanted, what);
  }
  std::vector<Number> from_last = mine;
  CHECK(MPI_Bcast(from_last.data(), count, type, ranks - 1, MPI_COMM_WORLD) == MPI_SUCCESS, what);
  CHECK(from_last == inputs(ranks - 1), what);
  std::vector<Number> all(static_cast<std::size_t>(count * ranks));
  CHECK(MPI_Allgather(mine.data(), count, type, all.data(), count, type, MPI_COMM_WORLD) == MPI_SUCCESS,
        what);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<Number> wanted = inputs(rank);
    CHECK(std::equal(wanted.begin(), wanted.end(), all.begin() + count * rank), what);
  }
}

/// Types of a precision must not be freed.
void fortrans() {
  MPI_Datatype real = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_real(6, 30, &real);
  for (int i = 0; i < 3; ++i) {
    MPI_Datatype pair = row(2, real);
    MPI_Type_commit(&pair);
    std::vector<float> values(2 * count, world_rank() == 0 ? 1.5F : 0.0F);
    CHECK(MPI_Bcast(values.data(), count, pair, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(values == std::vector<float>(2 * count, 1.5F));
    MPI_Type_free(&pair);
  }
  MPI_Datatype again = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_real(6, 30, &again);
  CHECK(again == real);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Op op{};
  MPI_Op_create(add, 1, &op);
  fortrans();
  for (int kind = 0; kind < kinds; ++kind) {
    const std::string what = "kind " + std::to_string(kind);
    largest_number = INT_MIN;
    MPI_Fint largest_at_first = 0;
    std::size_t memory_at_first = 0;
    // The first rounds still allocate memory that is reused later.
    constexpr int first_rounds = 50;
    constexpr int more_rounds = 200;
    for (int round = 0; round < first_rounds + more_rounds; ++round) {
      MPI_Datatype type = two_bytes(kind);
      note_number(type);
      MPI_Type_commit(&type);
      use(type, op, what);
      MPI_Type_free(&type);
      if (round + 1 == first_rounds) {
        largest_at_first = largest_number;
        memory_at_first = mallinfo2().uordblks;
      }
    }
    CHECK(largest_number == largest_at_first, what);
    const auto grown = static_cast<long>(mallinfo2().uordblks - memory_at_first);
    CHECK(grown < more_rounds * 100, what + ": " + std::to_string(grown) + " bytes");
  }
  MPI_Op_free(&op);
  MPI_Finalize();
}
