// SPDX-License-Identifier: Apache-2.0
// Short blocking calls inside a node, again and again: of several types, operations and lengths, in place and
// not, on several communicators, by turns with longer ones, with calls in the background and with the
// program's own messages. A race chooses between the library and Stretto meanwhile, more than once.
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

struct Shape {
  MPI_Datatype type;
  MPI_Op op;
  int count;
};

/// The same on all ranks.
std::mt19937 shared(7);
std::mt19937 own;

int ranks_of(MPI_Comm comm) {
  return size_of(comm);
}

/// Ranks drift apart for a moment.
void drift() {
  if (own() % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 50));
}

template <typename T>
void check_call(MPI_Comm comm, const Shape& shape, bool in_place, int number) {
  const int p = ranks_of(comm);
  const int rank = rank_in(comm);
  const auto count = static_cast<std::size_t>(shape.count);
  std::vector<T> in(count);
  std::vector<T> out(count + 1, T{99});
  for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<T>(rank + number % 5 + static_cast<int>(i % 7));
  if (in_place) std::copy(in.begin(), in.end(), out.begin());
  drift();
  CHECK(MPI_Allreduce(in_place ? MPI_IN_PLACE : in.data(), out.data(), shape.count, shape.type, shape.op,
                      comm) == MPI_SUCCESS);
  for (std::size_t i = 0; i < count; ++i) {
    const int each = number % 5 + static_cast<int>(i % 7);
    const int expected = shape.op == MPI_MAX ? p - 1 + each : p * each + p * (p - 1) / 2;
    CHECK(out[i] == static_cast<T>(expected));
  }
  CHECK(out[count] == T{99});
}

void check_shape(MPI_Comm comm, const Shape& shape, bool in_place, int number) {
  if (shape.type == MPI_INT) check_call<int>(comm, shape, in_place, number);
  if (shape.type == MPI_DOUBLE) check_call<double>(comm, shape, in_place, number);
  if (shape.type == MPI_SHORT) check_call<short>(comm, shape, in_place, number);
}

void check_many() {
  const std::vector<Shape> shapes{
      {MPI_INT, MPI_SUM, 1},       {MPI_DOUBLE, MPI_SUM, 1},   {MPI_DOUBLE, MPI_MAX, 6},
      {MPI_DOUBLE, MPI_SUM, 7},    {MPI_SHORT, MPI_SUM, 31},   {MPI_INT, MPI_MAX, 48},
      {MPI_INT, MPI_SUM, 49},      {MPI_DOUBLE, MPI_SUM, 500}, {MPI_INT, MPI_SUM, 1023},
      {MPI_DOUBLE, MPI_SUM, 3000}, {MPI_INT, MPI_MAX, 65000},  {MPI_INT, MPI_SUM, 0}};
  std::vector<MPI_Comm> comms(3);
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank(), &comms[2]);
  for (int number = 0; number < 12000; ++number) {
    MPI_Comm comm = comms[shared() % 16 < 13 ? 0 : 1 + shared() % 2];
    // Mostly the same few shapes, as programs do.
    const std::size_t which = shared() % 8 != 0 ? shared() % 3 : shared() % shapes.size();
    const bool in_place = shared() % 4 == 0;
    MPI_Request request = MPI_REQUEST_NULL;
    int one = 1;
    int sum = 0;
    const bool has_other = shared() % 16 == 0;
    if (has_other) MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Request message = MPI_REQUEST_NULL;
    const bool sends = shared() % 16 == 0;
    const int p = size_of(MPI_COMM_WORLD);
    std::vector<int> sent(20000, number);
    std::vector<int> received(sent.size());
    if (sends) {
      MPI_Isend(sent.data(), static_cast<int>(sent.size()), MPI_INT, (world_rank() + 1) % p, 1,
                MPI_COMM_WORLD, &message);
    }
    check_shape(comm, shapes[which], in_place, number);
    if (sends) {
      MPI_Recv(received.data(), static_cast<int>(received.size()), MPI_INT, (world_rank() + p - 1) % p, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&message, MPI_STATUS_IGNORE);
      CHECK(received == sent);
    }
    if (has_other) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(sum == ranks_of(comm));
    }
    if (number % 2000 == 1999) {  // its handle may be used again
      MPI_Comm_free(&comms[1]);
      MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    }
  }
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  own.seed(static_cast<unsigned>(world_rank()));
  check_many();
  MPI_Finalize();
}
