// SPDX-License-Identifier: Apache-2.0
// Calls on device memory whose copies end late. Arguments: a part, and the path of the stand-in driver. Ranks
// differ in where their buffers are.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "device.hpp"

namespace {

constexpr int device_rank = 1;

template <typename Function>
Function from_stretto(const char* name) {
  const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  CHECK(function != nullptr, name);
  return function;
}

bool has_driver() {
  return driver != nullptr;
}

int* ints(Buffer& buffer) {
  return reinterpret_cast<int*>(buffer.data);
}

/// The arguments of a call: blocks of `count` ints.
struct Arguments {
  const void* in;
  void* out;
  int count;
  int root;
};

struct Collective {
  const char* name;
  bool input_of_all, output_of_all;  // whether the buffer has a block for each rank
  int (*start)(const Arguments& with, MPI_Request* request);
};

MPI_Comm world() {
  return MPI_COMM_WORLD;
}

const std::array<Collective, 10> collectives{{
    {"allreduce", false, false,
     [](const Arguments& a, MPI_Request* r) {
       return MPI_Iallreduce(a.in, a.out, a.count, MPI_INT, MPI_SUM, world(), r);
     }},
    {"bcast", false, false,
     [](const Arguments& a, MPI_Request* r) {
       return MPI_Ibcast(a.out, a.count, MPI_INT, a.root, world(), r);
     }},
    {"reduce", false, false,
     [](const Arguments& a, MPI_Request* r) {
       return MPI_Ireduce(a.in, a.out, a.count, MPI_INT, MPI_SUM, a.root, world(), r);
     }},
    {"reduce_scatter", true, false,
     [](const Arguments& a, MPI_Request* r) {
       return MPI_Ireduce_scatter_block(a.in, a.out, a.count, MPI_INT, MPI_SUM, world(), r);
     }},
    {"allgather", false, true,
     [](const Arguments& a, MPI_Request* r) {
       return MPI_Iallgather(a.in, a.count, MPI_INT, a.out, a.count, MPI_INT, world(), r);
     }},
    {"alltoall", true, true,
     [](const Arguments& a, MPI_Request* r) {
       return MPI_Ialltoall(a.in, a.count, MPI_INT, a.out, a.count, MPI_INT, world(), r);
     }},
    {"gather", false, true,
     [](const Arguments& a, MPI_Request* r) {
       return MPI_Igather(a.in, a.count, MPI_INT, a.out, a.count, MPI_INT, a.root, world(), r);
     }},
    {"scatter", true, false,
     [](const Arguments& a, MPI_Request* r) {
       return MPI_Iscatter(a.in, a.count, MPI_INT, a.out, a.count, MPI_INT, a.root, world(), r);
     }},
    {"scan", false, false,
     [](const Arguments& a, MPI_Request* r) {
       return MPI_Iscan(a.in, a.out, a.count, MPI_INT, MPI_SUM, world(), r);
     }},
    {"alltoallv", true, true,
     [](const Arguments& a, MPI_Request* r) {
       static std::array<int, 16> counts;
       static std::array<int, 16> places;
       for (int i = 0; i < size_of(world()); ++i) {
         const auto at = static_cast<std::size_t>(i);
         counts.at(at) = (i + world_rank()) % 2 == 0 ? a.count : a.count / 2;
         places.at(at) = i * a.count;
       }
       return MPI_Ialltoallv(a.in, counts.data(), places.data(), MPI_INT, a.out, counts.data(), places.data(),
                             MPI_INT, world(), r);
     }},
}};

void wait(MPI_Request* request) {
  CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/// The same call on host memory, and with buffers on some rank's device, gives the same.
void compare(const Collective& collective, int count, bool in_place, bool input_there, bool output_there) {
  const auto ranks = static_cast<std::size_t>(size_of(world()));
  const bool mine = has_driver();
  const auto block = static_cast<std::size_t>(count) * sizeof(int);
  constexpr std::size_t margin = 64;
  const std::size_t bytes = std::max<std::size_t>(block * ranks, 1) + margin;
  std::array<std::vector<char>, 2> outputs;
  for (const bool on_device : {false, true}) {
    Buffer input(bytes, mine && on_device && input_there);
    Buffer output(bytes, mine && on_device && output_there);
    for (std::size_t i = 0; i < block * ranks / sizeof(int); ++i) {
      ints(input)[i] = static_cast<int>(i) * (world_rank() + 3);
      ints(output)[i] = static_cast<int>(i) * (world_rank() + 7);
    }
    const Arguments arguments{in_place ? MPI_IN_PLACE : input.address, output.address, count,
                              1 % static_cast<int>(ranks)};
    MPI_Request request{};
    CHECK(collective.start(arguments, &request) == MPI_SUCCESS);
    wait(&request);
    outputs.at(on_device ? 1 : 0).assign(output.data, output.data + bytes);
  }
  CHECK(outputs[0] == outputs[1], std::string(collective.name) + " of " + std::to_string(count) +
                                      (in_place ? " in place" : "") + (input_there ? ", input" : "") +
                                      (output_there ? ", output" : ""));
}

void calls() {
  const int p = size_of(world());
  for (const Collective& collective : collectives) {
    const std::string_view name = collective.name;
    const bool may_be_in_place = name == "allreduce" || name == "reduce_scatter" || name == "allgather" ||
                                 name == "scan" || name == "alltoall";
    for (const int count : {0, 1, p - 1, p, p + 1, 1000, 30000}) {
      for (const bool input_there : {false, true}) {
        for (const bool output_there : {false, true}) {
          compare(collective, count, false, input_there, output_there);
        }
      }
      if (may_be_in_place) compare(collective, count, true, false, true);
    }
  }
}

void persistent() {
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
    wait(&request);
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
    wait(&requests.at(static_cast<std::size_t>(world_rank() == 0 ? i : many - 1 - i)));
  for (int i = 0; i < many; ++i) {
    int* const values = ints(*buffers[static_cast<std::size_t>(i)]);
    CHECK(std::all_of(values, values + count, [&](int one) { return one == i * ranks + sum; }));
  }
}

/// Returns the error of a sum on device memory; checks it if there is none.
int sum(std::size_t count) {
  const int ranks = size_of(world());
  Buffer input(count * sizeof(int), has_driver());
  auto output = std::make_unique<Buffer>(count * sizeof(int), has_driver());
  std::fill_n(ints(input), count, world_rank() + 1);
  const int error =
      MPI_Allreduce(input.address, output->address, static_cast<int>(count), MPI_INT, MPI_SUM, world());
  if (error == MPI_SUCCESS) {
    CHECK(std::all_of(ints(*output), ints(*output) + count,
                      [&](int one) { return one == ranks * (ranks + 1) / 2; }));
  }
  return error;
}

/// Whatever call of the driver fails, no rank hangs, the error is told, and the next call is right.
void errors() {
  MPI_Comm_set_errhandler(world(), MPI_ERRORS_RETURN);
  int failed = 0;
  for (int n = 1; n <= 60; ++n) {
    if (has_driver()) from_driver<void (*)(int)>("stand_in_fail")(n);
    failed += sum(20000) != MPI_SUCCESS ? 1 : 0;
    if (has_driver()) from_driver<void (*)(int)>("stand_in_fail")(0);
    CHECK(sums_right(world(), 20000));
    CHECK(sum(20000) == MPI_SUCCESS);
  }
  if (has_driver()) CHECK(failed > 10, std::to_string(failed));
  if (has_driver()) CHECK(from_driver<int (*)()>("stand_in_pushed")() == 0);
}

void lost() {
  MPI_Comm_set_errhandler(world(), MPI_ERRORS_RETURN);
  constexpr int count = 100000;
  Buffer data(count * sizeof(int), has_driver());
  if (has_driver()) from_driver<void (*)(double)>("stand_in_set_rate")(1e6);
  MPI_Request request{};
  MPI_Iallreduce(MPI_IN_PLACE, data.address, count, MPI_INT, MPI_SUM, world(), &request);
  if (has_driver()) from_driver<void (*)()>("stand_in_lose_context")();
  const int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (has_driver()) CHECK(error != MPI_SUCCESS);
  if (has_driver()) CHECK(MPI_Allreduce(MPI_IN_PLACE, data.address, count, MPI_INT, MPI_SUM, world()) != 0);
  if (!has_driver()) MPI_Allreduce(MPI_IN_PLACE, data.address, count, MPI_INT, MPI_SUM, world());
  CHECK(sums_right(world(), 20000));
}

/// What the device does before a call is seen: in the default stream, and in one that the program names.
void streams() {
  constexpr int count = 20000;
  const int ranks = size_of(world());
  Buffer data(count, has_driver());
  void* own = has_driver() ? from_driver<void* (*)()>("stand_in_stream")() : nullptr;
  for (void* stream : {static_cast<void*>(nullptr), own}) {
    for (const bool blocking : {true, false}) {
      if (has_driver()) {
        from_stretto<void (*)(void*)>("stretto_device_stream")(stream);
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
        wait(&request);
      }
      CHECK(std::all_of(data.data, data.data + count, [&](char one) { return one == ranks; }));
    }
  }
}

/// Memory of another context, of none, and memory that the host can access.
void memory() {
  constexpr int count = 20000;
  const int ranks = size_of(world());
  for (const char* from : {"stand_in_allocate", "stand_in_allocate_elsewhere", "stand_in_allocate_managed",
                           "stand_in_allocate_pooled"}) {
    for (const char* into : {"stand_in_allocate", "stand_in_allocate_elsewhere"}) {
      Buffer input(count * sizeof(int), has_driver(), from);
      Buffer output(count * sizeof(int), has_driver(), into);
      std::fill_n(ints(input), count, world_rank() + 1);
      CHECK(MPI_Allreduce(input.address, output.address, count, MPI_INT, MPI_SUM, world()) == MPI_SUCCESS);
      CHECK(std::all_of(ints(output), ints(output) + count,
                        [&](int one) { return one == ranks * (ranks + 1) / 2; }));
    }
  }
  MPI_Comm_set_errhandler(world(), MPI_ERRORS_RETURN);
  auto freed = std::make_unique<Buffer>(count * sizeof(int), has_driver());
  void* const address = freed->address;
  if (has_driver()) freed.reset();
  const int error = MPI_Allreduce(MPI_IN_PLACE, address, count, MPI_INT, MPI_SUM, world());
  if (has_driver()) CHECK(error != MPI_SUCCESS);
  CHECK(sums_right(world(), 20000));
}

/// A child, which has no context, may end as it likes.
void forks() {
  CHECK(sum(20000) == MPI_SUCCESS);
  if (has_driver()) {
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  CHECK(sum(20000) == MPI_SUCCESS);
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  CHECK(argc == 3);
  const std::string_view part = argv[1];
  if (world_rank() == device_rank) {
    driver = dlopen(argv[2], RTLD_LAZY);
    CHECK(driver != nullptr, argv[2]);
    from_driver<void (*)(int)>("stand_in_be_late")(1);
  }
  if (part == "calls") calls();
  if (part == "persistent") persistent();
  if (part == "outstanding") outstanding();
  if (part == "errors") errors();
  if (part == "lost") lost();
  if (part == "streams") streams();
  if (part == "memory") memory();
  if (part == "forks") forks();
  if (has_driver()) CHECK(from_driver<int (*)()>("stand_in_pushed")() == 0);
  if (has_driver() && part != "lost") CHECK(from_driver<int (*)()>("stand_in_copies_under_way")() == 0);
  MPI_Finalize();
}
