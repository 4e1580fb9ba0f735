// SPDX-License-Identifier: Apache-2.0
// Operations that a program has put into a stream before a call, and libraries that support device memory.

#include "device_parts.hpp"
#include "stretto/group.h"

namespace {

/// A call sees the device's earlier writes in the default stream, and in a stream that the program names.
void streams() {
  constexpr int count = 20000;
  const int ranks = size_of(world());
  Buffer data(count, has_driver());
  void* own = has_driver() ? from_driver<void* (*)()>("stand_in_stream")() : nullptr;
  for (void* stream : {static_cast<void*>(nullptr), own}) {
    for (const bool blocking : {true, false}) {
      if (has_driver()) {
        from_stretto<void* (*)(void*)>("stretto_set_device_stream")(stream);
        from_driver<void (*)(void*, void*, int, std::size_t, int)>("stand_in_set_later")(stream, data.address,
                                                                                         1, count, 100);
      } else {
        std::fill_n(data.data, count, char{1});
      }
      MPI_Request request = MPI_REQUEST_NULL;
      if (blocking) {
        MPI_Allreduce(MPI_IN_PLACE, data.address, count, MPI_INT8_T, MPI_SUM, world());
      } else {
        MPI_Iallreduce(MPI_IN_PLACE, data.address, count, MPI_INT8_T, MPI_SUM, world(), &request);
        wait_for(&request);
      }
      CHECK(std::all_of(data.data, data.data + count, [&](char one) { return one == ranks; }));
    }
  }
}

/// A library that supports device memory gets it as it is.
void aware() {
  constexpr int count = 20000;
  const int ranks = size_of(world());
  Buffer input(count * sizeof(int), has_driver(), "stand_in_allocate_open");
  Buffer output(count * sizeof(int), has_driver(), "stand_in_allocate_open");
  std::fill_n(ints(input), count, world_rank() + 1);
  for (const bool in_place : {false, true}) {
    for (const bool blocking : {false, true}) {
      std::copy_n(ints(input), count, ints(output));
      const void* from = in_place ? MPI_IN_PLACE : input.address;
      MPI_Request r = MPI_REQUEST_NULL;
      if (blocking) {
        MPI_Allreduce(from, output.address, count, MPI_INT, MPI_SUM, world());
      } else {
        MPI_Iallreduce(from, output.address, count, MPI_INT, MPI_SUM, world(), &r);
        wait_for(&r);
      }
      CHECK(std::all_of(ints(output), ints(output) + count,
                        [&](int one) { return one == ranks * (ranks + 1) / 2; }));
    }
  }
  if (has_driver()) CHECK((from_driver<int (*)()>("stand_in_copies")() == 0) == library_reduces());
}

/// The interface for frameworks with a library that supports device memory: calls see the writes in a stream
/// that the program has named, although the library does not use that stream.
void aware_streams() {
  constexpr std::size_t bytes = 20000;
  const int ranks = size_of(world());
  stretto_group* group = from_stretto<decltype(&stretto_group_make)>("stretto_group_make")(nullptr, 0, 0, 60);
  const auto finish = [](stretto_work* work) {
    CHECK(work != nullptr);
    CHECK(from_stretto<decltype(&stretto_work_wait)>("stretto_work_wait")(work, 60) == 1);
    from_stretto<decltype(&stretto_work_free)>("stretto_work_free")(work);
  };
  Buffer data(bytes, has_driver(), "stand_in_allocate_open");
  const auto set = [&](void* stream) {
    if (!has_driver()) {
      std::fill_n(data.data, bytes, char{1});
      return;
    }
    std::fill_n(data.data, bytes, char{0});
    from_stretto<void* (*)(void*)>("stretto_set_device_stream")(stream);
    void* const its = stream == reinterpret_cast<void*>(1) ? nullptr : stream;
    from_driver<void (*)(void*, void*, int, std::size_t, int)>("stand_in_set_later")(its, data.address, 1,
                                                                                     bytes, 100);
  };
  const auto is_all = [&](int value) {
    return std::all_of(data.data, data.data + bytes, [&](char one) { return one == value; });
  };
  // CU_STREAM_LEGACY, and one of the program.
  for (const bool of_program : {false, true}) {
    void* stream = reinterpret_cast<void*>(1);
    if (has_driver() && of_program) stream = from_driver<void* (*)()>("stand_in_stream")();
    set(stream);
    finish(from_stretto<decltype(&stretto_group_allreduce)>("stretto_group_allreduce")(
        group, data.address, data.address, bytes, STRETTO_INT8, STRETTO_SUM));
    CHECK(is_all(ranks));
    set(stream);
    if (world_rank() == device_rank) {
      finish(from_stretto<decltype(&stretto_group_send)>("stretto_group_send")(group, data.address, bytes, 0,
                                                                               3));
    } else if (world_rank() == 0) {
      std::fill_n(data.data, bytes, char{0});
      finish(from_stretto<decltype(&stretto_group_recv)>("stretto_group_recv")(group, data.address, bytes,
                                                                               device_rank, 3));
      CHECK(is_all(1));
    }
  }
  from_stretto<decltype(&stretto_group_free)>("stretto_group_free")(group);
}

}  // namespace

int main(int argc, char** argv) {
  return run_part(argc, argv, {{"streams", streams}, {"aware", aware}, {"aware_streams", aware_streams}});
}
