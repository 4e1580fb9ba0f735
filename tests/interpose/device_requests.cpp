// SPDX-License-Identifier: Apache-2.0
// Requests of calls on device memory: started again, completed in other orders, by other threads, beside
// other calls, and messages of the group interface.
#include <array>
#include <thread>
#include <vector>

#include "device_parts.hpp"
#include "stretto/group.h"

namespace {

/// By the C interface.
void repeated() {
  constexpr int count = 20000;
  const int ranks = size_of(world());
  const bool mine = has_driver();
  const int sum = ranks * (ranks + 1) / 2;
  Buffer input(count * sizeof(int), mine);
  Buffer output(count * sizeof(int), mine);
  MPI_Request request{};
  const auto init = from_stretto<int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                                         const char*, MPI_Request*)>("stretto_allreduce_init");
  CHECK(init(input.address, output.address, count, MPI_INT, MPI_SUM, world(), MPI_INFO_NULL, nullptr,
             &request) == MPI_SUCCESS);
  for (int round = 0; round < 5; ++round) {
    std::fill_n(ints(input), count, round * (world_rank() + 1));
    MPI_Start(&request);
    wait_for(&request);
    CHECK(std::all_of(ints(output), ints(output) + count, [&](int one) { return one == round * sum; }));
  }
  MPI_Request_free(&request);
}

/// Ranks complete several calls in different orders.
void outstanding() {
  constexpr int count = 20000;
  const int ranks = size_of(world());
  const bool mine = has_driver();
  const int sum = ranks * (ranks + 1) / 2;
  constexpr int many = 6;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::array<MPI_Request, many> requests{};
  for (int i = 0; i < many; ++i) {
    buffers.push_back(std::make_unique<Buffer>(count * sizeof(int), mine && i % 3 != 2));
    std::fill_n(ints(*buffers.back()), count, i + world_rank() + 1);
    MPI_Iallreduce(MPI_IN_PLACE, buffers.back()->address, count, MPI_INT, MPI_SUM, world(),
                   &requests.at(static_cast<std::size_t>(i)));
  }
  for (int i = 0; i < many; ++i)
    wait_for(&requests.at(static_cast<std::size_t>(world_rank() == 0 ? i : many - 1 - i)));
  for (int i = 0; i < many; ++i) {
    int* const values = ints(*buffers[static_cast<std::size_t>(i)]);
    CHECK(std::all_of(values, values + count, [&](int one) { return one == i * ranks + sum; }));
  }
}

/// Calls on device memory beside messages of the library, completed by each function for lists.
void mixed() {
  constexpr int count = 5000;
  const int ranks = size_of(world());
  const bool mine = has_driver();
  const int to = (world_rank() + 1) % ranks;
  const int from = (world_rank() + ranks - 1) % ranks;
  for (int way = 0; way < 6; ++way) {
    Buffer sums(count * sizeof(int), mine);
    Buffer all(count * sizeof(int) * static_cast<std::size_t>(ranks), mine);
    Buffer own(count * sizeof(int), mine);
    std::fill_n(ints(sums), count, world_rank() + 1);
    std::fill_n(ints(own), count, world_rank() + 1);
    int sent = world_rank() + 100;
    int received = 0;
    std::array<MPI_Request, 5> requests{};
    std::array<MPI_Status, 5> statuses{};
    for (MPI_Status& status : statuses) status.MPI_SOURCE = status.MPI_TAG = 12345;
    MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, 7, world(), &requests[0]);
    MPI_Iallreduce(MPI_IN_PLACE, sums.address, count, MPI_INT, MPI_SUM, world(), &requests[1]);
    requests[2] = MPI_REQUEST_NULL;
    MPI_Iallgather(own.address, count, MPI_INT, all.address, count, MPI_INT, world(), &requests[3]);
    MPI_Isend(&sent, 1, MPI_INT, to, 7, world(), &requests[4]);
    int flag = 0;
    if (way == 0) MPI_Waitall(5, requests.data(), statuses.data());
    while (way == 1 && flag == 0) MPI_Testall(5, requests.data(), &flag, statuses.data());
    for (int left = 4; way == 2 && left > 0; --left) {
      int index = -1;
      MPI_Status status{};
      MPI_Waitany(5, requests.data(), &index, &status);
      CHECK(index >= 0 && index < 5 && index != 2);
      statuses.at(static_cast<std::size_t>(index)) = status;
    }
    for (int left = 4; way == 3 && left > 0;) {
      std::array<int, 5> indices{};
      std::array<MPI_Status, 5> some{};
      int done = 0;
      MPI_Waitsome(5, requests.data(), &done, indices.data(), some.data());
      CHECK(done > 0);
      for (std::size_t i = 0; i < static_cast<std::size_t>(done); ++i)
        statuses.at(static_cast<std::size_t>(indices.at(i))) = some.at(i);
      left -= done;
    }
    for (std::size_t i = 0; way == 4 && i < 5; ++i) {
      for (flag = 0; flag == 0;) MPI_Request_get_status(requests.at(i), &flag, &statuses.at(i));
      MPI_Status status{};
      MPI_Wait(&requests.at(i), &status);
      if (i == 0)
        CHECK(status.MPI_SOURCE == statuses.at(i).MPI_SOURCE && status.MPI_TAG == statuses.at(i).MPI_TAG);
    }
    for (std::size_t i = 0; way == 5 && i < 5; ++i) {
      for (flag = 0; flag == 0;) MPI_Test(&requests.at(i), &flag, &statuses.at(i));
    }
    for (const MPI_Request& request : requests) CHECK(request == MPI_REQUEST_NULL);
    CHECK(received == from + 100);
    CHECK(statuses[0].MPI_SOURCE == from && statuses[0].MPI_TAG == 7);
    // (A library's own call has another status.)
    if (!library_reduces()) {
      int bytes = -1;
      MPI_Get_count(&statuses[1], MPI_BYTE, &bytes);
      CHECK(statuses[1].MPI_SOURCE == MPI_ANY_SOURCE && statuses[1].MPI_TAG == MPI_ANY_TAG && bytes == 0);
    }
    CHECK(
        std::all_of(ints(sums), ints(sums) + count, [&](int one) { return one == ranks * (ranks + 1) / 2; }));
    for (int i = 0; i < ranks * count; ++i) CHECK(ints(all)[i] == i / count + 1);
  }
}

/// Threads, each on its own communicator. The objects of calls are freed while the calls are in flight.
void threads() {
  constexpr int count = 3000;
  constexpr int rounds = 30;
  const int ranks = size_of(world());
  const bool mine = has_driver();
  std::array<MPI_Comm, 3> comms{};
  for (MPI_Comm& comm : comms) MPI_Comm_dup(world(), &comm);
  const auto work = [&](MPI_Comm comm) {
    for (int round = 0; round < rounds; ++round) {
      Buffer sums(count * sizeof(int), mine);
      Buffer all(2 * count * sizeof(int) * static_cast<std::size_t>(ranks), mine);
      std::fill_n(ints(sums), count, world_rank() + round);
      MPI_Datatype type{};
      MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &type);
      MPI_Type_commit(&type);
      MPI_Request request{};
      MPI_Iallgather(sums.address, count, MPI_INT, all.address, count, type, comm, &request);
      MPI_Type_free(&type);
      Buffer in(count * sizeof(int), mine);
      std::fill_n(ints(in), count, round);
      CHECK(MPI_Allreduce(MPI_IN_PLACE, in.address, count, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
      wait_for(&request);
      CHECK(std::all_of(ints(in), ints(in) + count, [&](int one) { return one == round * ranks; }));
      for (int i = 0; i < ranks * count; ++i) CHECK(ints(all)[2 * i] == i / count + round);
    }
  };
  std::vector<std::thread> all;
  for (MPI_Comm comm : comms) all.emplace_back(work, comm);
  for (std::thread& one : all) one.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

/// Messages of the interface for frameworks. A message may be shorter than the buffer, whose rest is kept.
void messages() {
  constexpr std::size_t bytes = 30000;
  stretto_group* group = from_stretto<decltype(&stretto_group_make)>("stretto_group_make")(nullptr, 0, 0, 60);
  const auto send = from_stretto<decltype(&stretto_group_send)>("stretto_group_send");
  const auto receive = from_stretto<decltype(&stretto_group_recv)>("stretto_group_recv");
  const auto finish = [](stretto_work* work) {
    CHECK(work != nullptr);
    CHECK(from_stretto<decltype(&stretto_work_wait)>("stretto_work_wait")(work, 60) == 1);
    CHECK(from_stretto<decltype(&stretto_work_error)>("stretto_work_error")(work) == nullptr);
    const int source = from_stretto<decltype(&stretto_work_source)>("stretto_work_source")(work);
    from_stretto<decltype(&stretto_work_free)>("stretto_work_free")(work);
    return source;
  };
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, bytes / 2, bytes}) {
    Buffer data(bytes, has_driver());
    std::fill_n(data.data, bytes, static_cast<char>(world_rank() + 1));
    const int other = 1 - world_rank();
    if (world_rank() > 1) continue;
    for (const int sender : {0, 1}) {
      if (world_rank() == sender) {
        finish(send(group, data.address, length, other, 5));
      } else {
        CHECK(finish(receive(group, data.address, bytes, STRETTO_ANY_SOURCE, 5)) == other);
        CHECK(std::all_of(data.data, data.data + length, [&](char one) { return one == sender + 1; }));
        CHECK(
            std::all_of(data.data + length, data.data + bytes, [&](char one) { return one == 2 - sender; }));
        std::fill_n(data.data, bytes, static_cast<char>(world_rank() + 1));
      }
    }
  }
  from_stretto<decltype(&stretto_group_free)>("stretto_group_free")(group);
}

}  // namespace

int main(int argc, char** argv) {
  return run_part(argc, argv,
                  {{"repeated", repeated},
                   {"outstanding", outstanding},
                   {"mixed", mixed},
                   {"threads", threads},
                   {"messages", messages}});
}
