// SPDX-License-Identifier: Apache-2.0
// All sorts of communicators, made and freed. The program must see nothing of Stretto's own. Argument: how
// often a communicator is made and freed.
#include <vector>

#include "check.hpp"

namespace {

int copies = 0;
int deletions = 0;
int at_finalize = 0;

int copy_attribute(MPI_Comm, int, void*, void* value, void* result, int* flag) {
  ++copies;
  *static_cast<void**>(result) = value;
  *flag = 1;
  return MPI_SUCCESS;
}
int delete_attribute(MPI_Comm, int, void*, void*) {
  ++deletions;
  return MPI_SUCCESS;
}
/// MPI_Finalize deletes MPI_COMM_SELF's attributes first, while MPI still works.
int reduce_at_finalize(MPI_Comm, int, void*, void*) {
  CHECK(sums_right(MPI_COMM_WORLD) && sums_right(MPI_COMM_SELF));
  ++at_finalize;
  return MPI_SUCCESS;
}

MPI_Comm subset(const std::vector<int>& ranks) {
  MPI_Group world{};
  MPI_Group group{};
  MPI_Comm comm{};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return comm;
}

void kinds() {
  const int rank = world_rank();
  const int ranks = size_of(MPI_COMM_WORLD);
  CHECK(sums_right(MPI_COMM_WORLD));
  CHECK(sums_right(MPI_COMM_SELF));
  MPI_Comm dup{};
  MPI_Comm dup_of_dup{};
  MPI_Comm halves{};
  MPI_Comm reversed{};
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  CHECK(sums_right(dup));
  MPI_Comm_dup(dup, &dup_of_dup);
  MPI_Comm_free(&dup);
  CHECK(sums_right(dup_of_dup));
  MPI_Comm_split(dup_of_dup, rank % 2, rank, &halves);
  CHECK(sums_right(halves));
  MPI_Comm_split(dup_of_dup, 0, -rank, &reversed);
  CHECK(rank_in(reversed) == ranks - 1 - rank);
  CHECK(sums_right(reversed));
  std::vector<int> odd_order;
  for (int i = ranks - 1; i > 0; --i) odd_order.push_back(i);
  MPI_Comm some = subset(odd_order);
  if (some != MPI_COMM_NULL) {
    CHECK(sums_right(some, 100));
    MPI_Comm_free(&some);
  }
  // All exist at once, each with its own messages.
  CHECK(sums_right(reversed) && sums_right(halves) && sums_right(dup_of_dup) && sums_right(MPI_COMM_WORLD));
  for (MPI_Comm* comm : {&dup_of_dup, &halves, &reversed}) MPI_Comm_free(comm);
}

void inter_communicator() {
  const int rank = world_rank();
  const int ranks = size_of(MPI_COMM_WORLD);
  MPI_Comm local{};
  MPI_Comm inter{};
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
  // The result on each side is the sum of the other side.
  int sum = 0;
  int expected = 0;
  for (int i = 1 - rank % 2; i < ranks; i += 2) expected += i;
  for (int turn = 0; turn < 3; ++turn) {
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter) == MPI_SUCCESS);
    CHECK(sum == expected);
  }
  MPI_Comm merged{};
  MPI_Intercomm_merge(inter, rank % 2, &merged);
  CHECK(sums_right(merged));
  for (MPI_Comm* comm : {&merged, &inter, &local}) MPI_Comm_free(comm);
}

void attributes() {
  int keyval = 0;
  int value = 0;
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyval, nullptr);
  MPI_Comm comm{};
  MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank(), &comm);
  MPI_Comm_set_attr(comm, keyval, &value);
  CHECK(sums_right(comm) && sums_right(comm, 1000));
  CHECK(copies == 0 && deletions == 0);
  MPI_Comm dup{};
  MPI_Comm_dup(comm, &dup);
  CHECK(copies == 1 && deletions == 0);
  CHECK(sums_right(dup));
  MPI_Comm_free(&dup);
  CHECK(copies == 1 && deletions == 1);
  MPI_Comm_free(&comm);
  CHECK(copies == 1 && deletions == 2);
  MPI_Comm_free_keyval(&keyval);

  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, reduce_at_finalize, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &value);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  kinds();
  inter_communicator();
  attributes();
  // If each communicator lost a context id, none would be left long before the end.
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  for (int i = 0; i < rounds; ++i) {
    MPI_Comm comm{};
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(sums_right(comm, 1), std::to_string(i));
    MPI_Comm_free(&comm);
  }
  kinds();
  // These live to the end, and are freed by MPI_Finalize, or never.
  MPI_Comm left[3];
  for (MPI_Comm& comm : left) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    CHECK(sums_right(comm));
  }
  MPI_Finalize();
  if (at_finalize != 1) std::fputs("the attribute of MPI_COMM_SELF was not deleted\n", stderr);
  return at_finalize == 1 ? 0 : 1;
}
