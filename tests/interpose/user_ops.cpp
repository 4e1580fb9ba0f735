// SPDX-License-Identifier: Apache-2.0
// The program's own operations, commutative and not, on datatypes with gaps, shifted and negative bounds,
// interleaved elements, and elements in falling order. The expected result is computed here.
#include <algorithm>
#include <cstring>
#include <vector>

#include "check.hpp"
#include "each.hpp"

namespace {

constexpr std::int64_t prime = 1000003;

/// An element is the pair (a, b) of integers at these offsets. As functions x → a x + b, pairs can be
/// composed, which is associative and does not commute.
struct Layout {
  const char* name;
  MPI_Aint first;
  MPI_Aint second;
  MPI_Aint lower_bound;
  MPI_Aint extent;
};
struct Pair {
  std::int64_t a;
  std::int64_t b;
  bool operator==(const Pair&) const = default;
};

const Layout layouts[] = {
    {"contiguous", 0, 8, 0, 16},         {"gaps", 4, 20, 0, 40},
    {"true lower bound", 24, 32, 0, 48}, {"negative lower bound", -24, -8, -32, 40},
    {"interleaved", 0, 40, 0, 16},       {"falling", 0, 8, 0, -16},
    {"more than a line", 0, 88, 0, 104}, {"most of a piece", 8, 4000, 0, 4032},
};
const Layout* current = nullptr;
/// Whether operations also write to their input operand, as those of some programs do.
bool spoil_operands = false;

Pair read(const char* element) {
  Pair pair{};
  std::memcpy(&pair.a, element + current->first, sizeof(pair.a));
  std::memcpy(&pair.b, element + current->second, sizeof(pair.b));
  return pair;
}
void write(char* element, Pair pair) {
  std::memcpy(element + current->first, &pair.a, sizeof(pair.a));
  std::memcpy(element + current->second, &pair.b, sizeof(pair.b));
}

Pair add(Pair left, Pair right) {
  return {(left.a + right.a) % prime, left.b * right.b % prime};
}
Pair compose(Pair left, Pair right) {
  return {left.a * right.a % prime, (left.a * right.b + left.b) % prime};
}

template <Pair (*combine)(Pair, Pair)>
void operation(void* in, void* inout, int* length, MPI_Datatype* /*datatype*/) {
  for (MPI_Aint i = 0; i < *length; ++i) {
    char* into = static_cast<char*>(inout) + i * current->extent;
    char* from = static_cast<char*>(in) + i * current->extent;
    write(into, combine(read(from), read(into)));
    if (spoil_operands) write(from, {-1, -1});
  }
}

Pair contribution(int rank, std::size_t i) {
  Random random(static_cast<std::uint64_t>(rank) * 7919 + i);
  return {static_cast<std::int64_t>(random.next() % prime), static_cast<std::int64_t>(random.next() % prime)};
}

MPI_Datatype make_type(const Layout& layout) {
  const int lengths[] = {1, 1};
  const MPI_Aint offsets[] = {layout.first, layout.second};
  MPI_Datatype raw{};
  MPI_Datatype type{};
  MPI_Type_create_hindexed(2, lengths, offsets, MPI_INT64_T, &raw);
  MPI_Type_create_resized(raw, layout.lower_bound, layout.extent, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&raw);
  return type;
}

void run(const Layout& layout, std::size_t count, bool commutes, bool in_place) {
  current = &layout;
  // (The libraries themselves do not tolerate that.)
  spoil_operands = commutes && !library_reduces();
  const std::string what = std::string(layout.name) + " count " + std::to_string(count) +
                           (commutes ? "" : " ordered") + (in_place ? " in place" : "");
  const int rank = world_rank();
  const int ranks = size_of(MPI_COMM_WORLD);
  MPI_Datatype type = make_type(layout);
  MPI_Op op{};
  MPI_Op_create(commutes ? operation<add> : operation<compose>, commutes ? 1 : 0, &op);

  // Bytes enough on either side.
  const std::size_t half =
      64 + std::max<std::size_t>(48, layout.extent < 0 ? 16 : layout.extent) * (count + 2);
  const auto at = [&](std::vector<char>& buffer, std::size_t i) {
    return buffer.data() + half + static_cast<MPI_Aint>(i) * layout.extent;
  };
  std::vector<char> input(2 * half, '\x5a');
  std::vector<char> expected = input;
  for (std::size_t i = 0; i < count; ++i) {
    write(at(input, i), contribution(rank, i));
    Pair result = contribution(0, i);
    for (int r = 1; r < ranks; ++r) {
      result = commutes ? add(result, contribution(r, i)) : compose(result, contribution(r, i));
    }
    write(at(expected, i), result);
  }
  const std::vector<char> before = input;
  std::vector<char> output = in_place ? input : std::vector<char>(2 * half, '\x5a');
  const void* from = in_place ? MPI_IN_PLACE : at(input, 0);
  const int error = MPI_Allreduce(from, at(output, 0), static_cast<int>(count), type, op, MPI_COMM_WORLD);

  const char* strict = std::getenv("STRETTO_STRICT");
  const bool refused =
      strict != nullptr && count > 0 && !commutes && ranks > 2 && forced_spec().starts_with("ring");
  CHECK(error_class(error) == (refused ? MPI_ERR_OTHER : MPI_SUCCESS), what);
  CHECK(input == before, what);
  for (std::size_t i = 0; !refused && i < count; ++i)
    CHECK(read(at(output, i)) == read(at(expected, i)), what);
  // All else, including gaps, is unchanged. The library's own reductions need not keep gaps.
  if (!refused && !library_reduces() && commutes) CHECK(output == expected, what);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
}

void run_all() {
  const auto ranks = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
  for (const Layout& layout : layouts) {
    // Neither library itself reduces elements in falling order.
    if (layout.extent < 0 && library_reduces()) continue;
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, ranks - 1, ranks + 1, std::size_t{203}}) {
      for (const bool commutes : {true, false}) {
        if (layout.extent < 0 && !commutes && forced_spec().starts_with("ring")) continue;
        for (const bool in_place : {true, false}) run(layout, count, commutes, in_place);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  under_each_spec(argc, argv, run_all);
  MPI_Finalize();
}
