// SPDX-License-Identifier: Apache-2.0
// Datatypes and addresses that programs seldom use but MPI allows: types made with large counts, from
// Fortran's parameterised types, with absolute addresses and MPI_BOTTOM, and different types on different
// ranks. With the argument `large`, elements have more than 2 GiB.
#include <algorithm>
#include <numeric>
#include <vector>

#include "check.hpp"

namespace {

constexpr int count = 1000;
using Values = std::vector<int>;

Values mine() {
  Values values(count);
  std::iota(values.begin(), values.end(), 1000 * world_rank());
  return values;
}

Values sums() {
  const int ranks = size_of(MPI_COMM_WORLD);
  Values values(count);
  for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = ranks * i + 500 * ranks * (ranks - 1);
  return values;
}

/// Returns a type for elements at this address, relative to MPI_BOTTOM.
MPI_Datatype absolute(const void* address, int elements) {
  MPI_Aint place = 0;
  MPI_Get_address(address, &place);
  MPI_Datatype type{};
  MPI_Type_create_hindexed(1, &elements, &place, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

/// Does the same for an array of single elements, which a user-defined operation gets.
MPI_Datatype absolute_element(const void* address) {
  MPI_Datatype there = absolute(address, 1);
  MPI_Datatype type{};
  MPI_Aint place = 0;
  MPI_Get_address(address, &place);
  MPI_Type_create_resized(there, place, sizeof(int), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&there);
  return type;
}

void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(*type, &lower_bound, &extent);
  for (int i = 0; i < *length; ++i) {
    const MPI_Aint at = lower_bound + i * extent;
    *reinterpret_cast<int*>(static_cast<char*>(inout) + at) +=
        *reinterpret_cast<int*>(static_cast<char*>(in) + at);
  }
}

MPI_Op addition() {
  static const MPI_Op op = [] {
    MPI_Op made{};
    MPI_Op_create(add, 1, &made);
    return made;
  }();
  return op;
}

void broadcast(MPI_Datatype type, int elements, const std::string& what) {
  Values values = world_rank() == 0 ? mine() : Values(count);
  CHECK(MPI_Bcast(values.data(), elements, type, 0, MPI_COMM_WORLD) == MPI_SUCCESS, what);
  for (int i = 0; i < count; ++i) CHECK(values[static_cast<std::size_t>(i)] == i, what);
}

void made_with_large_counts() {
#ifndef OPEN_MPI
  MPI_Datatype type{};
  MPI_Type_contiguous_c(10, MPI_INT, &type);
  MPI_Type_commit(&type);
  broadcast(type, count / 10, "a type made with large counts");
  MPI_Datatype outer{};
  MPI_Type_contiguous(10, type, &outer);
  MPI_Type_commit(&outer);
  broadcast(outer, count / 100, "a type of a type made with large counts");
  MPI_Type_free(&outer);
  MPI_Type_free(&type);
#endif
}

void of_fortrans_types() {
  MPI_Datatype integer{};
  MPI_Datatype type{};
  CHECK(MPI_Type_create_f90_integer(9, &integer) == MPI_SUCCESS);
  MPI_Type_contiguous(4, integer, &type);
  MPI_Type_commit(&type);
  broadcast(type, count / 4, "a type of Fortran's integers");
  MPI_Type_free(&type);
}

/// Absolute addresses on rank 0 only.
void gathered_from_absolute_addresses() {
  const int ranks = size_of(MPI_COMM_WORLD);
  const Values sent = mine();
  Values received(static_cast<std::size_t>(ranks) * count);
  if (world_rank() == 0) {
    MPI_Datatype from = absolute(sent.data(), count);
    MPI_Datatype to = absolute(received.data(), count);
    MPI_Datatype block{};
    MPI_Aint place = 0;
    MPI_Get_address(received.data(), &place);
    MPI_Type_create_resized(to, place, static_cast<MPI_Aint>(count * sizeof(int)), &block);
    MPI_Type_commit(&block);
    MPI_Allgather(MPI_BOTTOM, 1, from, MPI_BOTTOM, 1, block, MPI_COMM_WORLD);
    MPI_Type_free(&block);
    MPI_Type_free(&to);
    MPI_Type_free(&from);
  } else {
    MPI_Allgather(sent.data(), count, MPI_INT, received.data(), count, MPI_INT, MPI_COMM_WORLD);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    for (int i = 0; i < count; ++i) {
      CHECK(received[static_cast<std::size_t>(rank * count + i)] == 1000 * rank + i);
    }
  }
}

void reduced_at_absolute_addresses() {
  Values values = mine();
  MPI_Datatype type = absolute_element(values.data());
  CHECK(MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, count, type, addition(), MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(values == sums(), "allreduce in place at MPI_BOTTOM");

  for (const int root : {0, size_of(MPI_COMM_WORLD) - 1}) {
    const bool is_root = world_rank() == root;
#ifndef OPEN_MPI  // MPICH 4.0.2's own reduce in place takes root 0 only
    if (root != 0 && forced_spec().starts_with("native")) continue;
#endif
    // The values are at the places that the type describes.
    std::ranges::copy(mine(), values.begin());
    CHECK(MPI_Reduce(is_root ? MPI_IN_PLACE : MPI_BOTTOM, is_root ? MPI_BOTTOM : nullptr, count, type,
                     addition(), root, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(values == (is_root ? sums() : mine()), "reduce at MPI_BOTTOM to " + std::to_string(root));
  }
  MPI_Type_free(&type);
}

/// One element of more than 2 GiB on rank 0, many small ones on the others.
void large_elements() {
  constexpr std::size_t piece = std::size_t{1} << 20;
  constexpr std::size_t pieces = 2049;
  std::vector<char> values(piece * pieces);
  const auto wanted = [](std::size_t i) { return static_cast<char>(i % 251); };
  MPI_Datatype small{};
  MPI_Type_contiguous(static_cast<int>(piece), MPI_CHAR, &small);
  MPI_Type_commit(&small);
  if (world_rank() == 0) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = wanted(i);
    // The pieces are in falling order in memory, and so also in the message.
    std::vector<int> lengths(pieces, 1);
    std::vector<MPI_Aint> places(pieces);
    for (std::size_t i = 0; i < pieces; ++i) places[i] = static_cast<MPI_Aint>((pieces - 1 - i) * piece);
    MPI_Datatype whole{};
    MPI_Type_create_hindexed(pieces, lengths.data(), places.data(), small, &whole);
    MPI_Type_commit(&whole);
    CHECK(MPI_Bcast(values.data(), 1, whole, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    MPI_Type_free(&whole);
  } else {
    CHECK(MPI_Bcast(values.data(), pieces, small, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t mirrored = (pieces - 1 - i / piece) * piece + i % piece;
      wrong += values[i] != wanted(mirrored) ? 1 : 0;
    }
    CHECK(wrong == 0, std::to_string(wrong) + " bytes");
  }
  MPI_Type_free(&small);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1 && std::string_view(argv[1]) == "large") {
    large_elements();
  } else {
    made_with_large_counts();
    of_fortrans_types();
    gathered_from_absolute_addresses();
    reduced_at_absolute_addresses();
  }
  MPI_Finalize();
}
