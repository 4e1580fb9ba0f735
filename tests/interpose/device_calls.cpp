// SPDX-License-Identifier: Apache-2.0
// Calls on device memory whose copies end late. Arguments: a part, and the path of the stand-in driver. Ranks
// differ in where their buffers are.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "device.hpp"
#include "stretto/group.h"

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(Name) MPIX_##Name##_init
#else
#define INIT(Name) MPI_##Name##_init
#endif

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

enum class Form { blocking, non_blocking, persistent };

struct Asked {
  Form form;
  MPI_Request request{};
};

struct Collective {
  const char* name;
  bool may_be_in_place;
  int (*call)(const Arguments& with, Asked& asked);
};

MPI_Comm world() {
  return MPI_COMM_WORLD;
}

/// Every second int of a buffer: the others must keep what they hold.
MPI_Datatype spaced() {
  static const MPI_Datatype type = [] {
    MPI_Datatype its{};
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &its);
    MPI_Type_commit(&its);
    return its;
  }();
  return type;
}

/// What each rank gives and gets in calls whose blocks differ. They leave gaps.
struct Unequal {
  std::array<int, 16> counts;
  std::array<int, 16> places;
  std::array<int, 16> offsets;
  std::array<MPI_Datatype, 16> types;
};
/// `own`: the rank that is added to each other one.
const Unequal& unequal(int count, int own) {
  static std::array<Unequal, 2> all;
  Unequal& its = all.at(own == 0 ? 0 : 1);
  for (int i = 0; i < size_of(world()); ++i) {
    const auto at = static_cast<std::size_t>(i);
    its.counts.at(at) = (i + own) % 2 == 0 ? count : count / 2;
    its.places.at(at) = i * count;
    its.offsets.at(at) = i * count * static_cast<int>(sizeof(int));
    its.types.at(at) = MPI_INT;
  }
  return its;
}

#define CALL(Name, Iname, ...)                                           \
  (r.form == Form::blocking       ? MPI_##Name(__VA_ARGS__)              \
   : r.form == Form::non_blocking ? MPI_##Iname(__VA_ARGS__, &r.request) \
                                  : INIT(Name)(__VA_ARGS__, MPI_INFO_NULL, &r.request))

const std::array<Collective, 20> collectives{{
    {"allreduce", true,
     [](const Arguments& a, Asked& r) {
       return CALL(Allreduce, Iallreduce, a.in, a.out, a.count, MPI_INT, MPI_SUM, world());
     }},
    {"bcast", false,
     [](const Arguments& a, Asked& r) {
       return CALL(Bcast, Ibcast, a.out, a.count, MPI_INT, a.root, world());
     }},
    {"bcast with gaps", false,
     [](const Arguments& a, Asked& r) {
       return CALL(Bcast, Ibcast, a.out, a.count / 2, spaced(), a.root, world());
     }},
    {"reduce", false,
     [](const Arguments& a, Asked& r) {
       return CALL(Reduce, Ireduce, a.in, a.out, a.count, MPI_INT, MPI_SUM, a.root, world());
     }},
    {"reduce_scatter_block", true,
     [](const Arguments& a, Asked& r) {
       return CALL(Reduce_scatter_block, Ireduce_scatter_block, a.in, a.out, a.count, MPI_INT, MPI_SUM,
                   world());
     }},
    {"reduce_scatter", true,
     [](const Arguments& a, Asked& r) {
       return CALL(Reduce_scatter, Ireduce_scatter, a.in, a.out, unequal(a.count, 0).counts.data(), MPI_INT,
                   MPI_SUM, world());
     }},
    {"allgather", true,
     [](const Arguments& a, Asked& r) {
       return CALL(Allgather, Iallgather, a.in, a.count, MPI_INT, a.out, a.count, MPI_INT, world());
     }},
    {"allgather with gaps", true,
     [](const Arguments& a, Asked& r) {
       return CALL(Allgather, Iallgather, a.in, a.count / 2, MPI_INT, a.out, a.count / 2, spaced(), world());
     }},
    {"allgatherv", true,
     [](const Arguments& a, Asked& r) {
       const Unequal& it = unequal(a.count, 0);
       return CALL(Allgatherv, Iallgatherv, a.in, it.counts.at(static_cast<std::size_t>(world_rank())),
                   MPI_INT, a.out, it.counts.data(), it.places.data(), MPI_INT, world());
     }},
    {"alltoall", true,
     [](const Arguments& a, Asked& r) {
       return CALL(Alltoall, Ialltoall, a.in, a.count, MPI_INT, a.out, a.count, MPI_INT, world());
     }},
    {"alltoallv", false,
     [](const Arguments& a, Asked& r) {
       const Unequal& it = unequal(a.count, world_rank());
       return CALL(Alltoallv, Ialltoallv, a.in, it.counts.data(), it.places.data(), MPI_INT, a.out,
                   it.counts.data(), it.places.data(), MPI_INT, world());
     }},
    {"alltoallw", false,
     [](const Arguments& a, Asked& r) {
       const Unequal& it = unequal(a.count, world_rank());
       return CALL(Alltoallw, Ialltoallw, a.in, it.counts.data(), it.offsets.data(), it.types.data(), a.out,
                   it.counts.data(), it.offsets.data(), it.types.data(), world());
     }},
    {"gather", false,
     [](const Arguments& a, Asked& r) {
       return CALL(Gather, Igather, a.in, a.count, MPI_INT, a.out, a.count, MPI_INT, a.root, world());
     }},
    {"gather from gaps", false,
     [](const Arguments& a, Asked& r) {
       return CALL(Gather, Igather, a.in, a.count / 2, spaced(), a.out, a.count / 2, MPI_INT, a.root,
                   world());
     }},
    {"gatherv", false,
     [](const Arguments& a, Asked& r) {
       const Unequal& it = unequal(a.count, 0);
       return CALL(Gatherv, Igatherv, a.in, it.counts.at(static_cast<std::size_t>(world_rank())), MPI_INT,
                   a.out, it.counts.data(), it.places.data(), MPI_INT, a.root, world());
     }},
    {"scatter", false,
     [](const Arguments& a, Asked& r) {
       return CALL(Scatter, Iscatter, a.in, a.count, MPI_INT, a.out, a.count, MPI_INT, a.root, world());
     }},
    {"scatterv", false,
     [](const Arguments& a, Asked& r) {
       const Unequal& it = unequal(a.count, 0);
       return CALL(Scatterv, Iscatterv, a.in, it.counts.data(), it.places.data(), MPI_INT, a.out,
                   it.counts.at(static_cast<std::size_t>(world_rank())), MPI_INT, a.root, world());
     }},
    {"scan", true,
     [](const Arguments& a, Asked& r) {
       return CALL(Scan, Iscan, a.in, a.out, a.count, MPI_INT, MPI_SUM, world());
     }},
    {"exscan", true,
     [](const Arguments& a, Asked& r) {
       return CALL(Exscan, Iexscan, a.in, a.out, a.count, MPI_INT, MPI_SUM, world());
     }},
    {"scatter to gaps", false,
     [](const Arguments& a, Asked& r) {
       return CALL(Scatter, Iscatter, a.in, a.count / 2, MPI_INT, a.out, a.count / 2, spaced(), a.root,
                   world());
     }},
}};

void wait(MPI_Request* request) {
  CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/// The same call on host memory, and with buffers on some rank's device, gives the same. A persistent one is
/// started three times.
void compare(const Collective& collective, int count, bool in_place, bool input_there, bool output_there,
             Form form) {
  const auto ranks = static_cast<std::size_t>(size_of(world()));
  const bool mine = has_driver();
  const auto block = static_cast<std::size_t>(count) * sizeof(int);
  constexpr std::size_t margin = 64;
  const std::size_t bytes = std::max<std::size_t>(block * ranks, 1) + margin;
  std::array<std::vector<char>, 2> outputs;
  for (const bool on_device : {false, true}) {
    Buffer input(bytes, mine && on_device && input_there);
    Buffer output(bytes, mine && on_device && output_there);
    const Arguments arguments{in_place ? MPI_IN_PLACE : input.address, output.address, count,
                              1 % static_cast<int>(ranks)};
    const auto fill = [&](int time) {
      for (std::size_t i = 0; i < block * ranks / sizeof(int); ++i) {
        ints(input)[i] = static_cast<int>(i) * (world_rank() + time + 3);
        ints(output)[i] = static_cast<int>(i) * (world_rank() + time + 7);
      }
    };
    Asked asked{form};
    if (form != Form::persistent) fill(0);
    CHECK(collective.call(arguments, asked) == MPI_SUCCESS);
    if (form == Form::non_blocking) wait(&asked.request);
    for (int time = 0; form == Form::persistent && time < 3; ++time) {
      fill(time);
      CHECK(MPI_Start(&asked.request) == MPI_SUCCESS);
      wait(&asked.request);
    }
    if (form == Form::persistent) CHECK(MPI_Request_free(&asked.request) == MPI_SUCCESS);
    outputs.at(on_device ? 1 : 0).assign(output.data, output.data + bytes);
  }
  CHECK(outputs[0] == outputs[1], std::string(collective.name) + " of " + std::to_string(count) +
                                      (in_place ? " in place" : "") + (input_there ? ", input" : "") +
                                      (output_there ? ", output" : "") + ", form " +
                                      std::to_string(static_cast<int>(form)));
}

void calls() {
  const int p = size_of(world());
  for (const Collective& collective : collectives) {
    for (const int count : {0, 1, p - 1, p, p + 1, 1000, 30000}) {
      for (const Form form : {Form::blocking, Form::non_blocking}) {
        for (const bool input_there : {false, true}) {
          for (const bool output_there : {false, true})
            compare(collective, count, false, input_there, output_there, form);
        }
        // Long enough for several parts of a segment.
        if (count == 30000) compare(collective, 100000, false, true, true, form);
        if (collective.may_be_in_place) compare(collective, count, true, false, true, form);
      }
    }
  }
}

/// MPICH 4.0.2 releases types once too often in persistent calls without elements, which are the library's.
void persistent() {
  const int p = size_of(world());
  for (const Collective& collective : collectives) {
    for (const int count : {2, p + 1, 30000}) {
      compare(collective, count, false, true, true, Form::persistent);
      compare(collective, count, false, false, true, Form::persistent);
      if (collective.may_be_in_place) {
        compare(collective, count, true, false, true, Form::persistent);
      }
    }
  }
}

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

/// Adds every second int, as MPI_SUM does not.
MPI_Op spaced_sum() {
  static const MPI_Op op = [] {
    MPI_Op its{};
    MPI_Op_create(
        [](void* in, void* out, int* count, MPI_Datatype* /*type*/) {
          for (int i = 0; i < *count; ++i) static_cast<int*>(out)[2 * i] += static_cast<int*>(in)[2 * i];
        },
        1, &its);
    return its;
  }();
  return op;
}

/// Two ints of three, in order, whose lower bound is below the buffer.
MPI_Datatype below() {
  static const MPI_Datatype type = [] {
    MPI_Datatype two{};
    MPI_Datatype its{};
    const int lengths = 2;
    const MPI_Aint place = -static_cast<MPI_Aint>(sizeof(int));
    MPI_Type_create_hindexed(1, &lengths, &place, MPI_INT, &two);
    MPI_Type_create_resized(two, place, 3 * sizeof(int), &its);
    MPI_Type_commit(&its);
    MPI_Type_free(&two);
    return its;
  }();
  return type;
}

/// Calls with results that leave gaps, to an output of `count` ints for each rank. The second one's results
/// (`part` 1) are in gaps of the first one's.
struct Interleaved {
  const char* name;
  void (*call)(const Arguments& with, int part, MPI_Request* request);
};

const std::array<Interleaved, 6> interleaved_calls{{
    {"allgather",
     [](const Arguments& a, int part, MPI_Request* r) {
       MPI_Iallgather(a.in, a.count / 2, MPI_INT, static_cast<int*>(a.out) + part, a.count / 2, spaced(),
                      world(), r);
     }},
    {"allgatherv",
     [](const Arguments& a, int part, MPI_Request* r) {
       static std::array<Unequal, 2> all;
       Unequal& it = all.at(static_cast<std::size_t>(part));
       for (int i = 0; i < size_of(world()); ++i) {
         it.counts.at(static_cast<std::size_t>(i)) = a.count / 2;
         it.places.at(static_cast<std::size_t>(i)) = i * a.count + part * (a.count / 2);
       }
       MPI_Iallgatherv(a.in, a.count / 2, MPI_INT, a.out, it.counts.data(), it.places.data(), MPI_INT,
                       world(), r);
     }},
    {"alltoallv",
     [](const Arguments& a, int part, MPI_Request* r) {
       static std::array<Unequal, 2> all;
       Unequal& it = all.at(static_cast<std::size_t>(part));
       for (int i = 0; i < size_of(world()); ++i) {
         it.counts.at(static_cast<std::size_t>(i)) = a.count / 2;
         it.places.at(static_cast<std::size_t>(i)) = i * a.count + part * (a.count / 2);
       }
       MPI_Ialltoallv(a.in, it.counts.data(), it.places.data(), MPI_INT, a.out, it.counts.data(),
                      it.places.data(), MPI_INT, world(), r);
     }},
    {"bcast",
     [](const Arguments& a, int part, MPI_Request* r) {
       MPI_Ibcast(static_cast<int*>(a.out) + part, a.count / 2, spaced(), a.root, world(), r);
     }},
    {"bcast from a lower bound",
     [](const Arguments& a, int part, MPI_Request* r) {
       if (part == 0) MPI_Ibcast(static_cast<int*>(a.out) + 1, a.count / 3, below(), a.root, world(), r);
     }},
    {"allreduce",
     [](const Arguments& a, int part, MPI_Request* r) {
       MPI_Iallreduce(static_cast<const int*>(a.in) + part, static_cast<int*>(a.out) + part, a.count / 2,
                      spaced(), spaced_sum(), world(), r);
     }},
}};

/// What two calls under way, and the device itself, write to each other's gaps stays there.
void interleaved() {
  constexpr int count = 3000;
  const auto ranks = static_cast<std::size_t>(size_of(world()));
  const std::size_t ints_in_all = count * ranks + 1;
  for (const Interleaved& one : interleaved_calls) {
    std::array<std::vector<char>, 2> outputs;
    for (const bool on_device : {false, true}) {
      const bool there = has_driver() && on_device;
      Buffer input(ints_in_all * sizeof(int), there);
      Buffer output(ints_in_all * sizeof(int), there);
      for (std::size_t i = 0; i < ints_in_all; ++i) {
        ints(input)[i] = static_cast<int>(i) * (world_rank() + 3);
        ints(output)[i] = static_cast<int>(i) * (world_rank() + 7);
      }
      std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      for (int part = 0; part < 2; ++part) {
        const Arguments arguments{input.address, output.address, count, 1 % static_cast<int>(ranks)};
        one.call(arguments, part, &requests.at(static_cast<std::size_t>(part)));
      }
      // Behind all results.
      ints(output)[ints_in_all - 1] = 4711;
      CHECK(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
      outputs.at(on_device ? 1 : 0).assign(output.data, output.data + ints_in_all * sizeof(int));
    }
    CHECK(outputs[0] == outputs[1], one.name);
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

/// Threads, each on its own communicator; what they name is freed while calls are under way.
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
      wait(&request);
      CHECK(std::all_of(ints(in), ints(in) + count, [&](int one) { return one == round * ranks; }));
      for (int i = 0; i < ranks * count; ++i) CHECK(ints(all)[2 * i] == i / count + round);
    }
  };
  std::vector<std::thread> all;
  for (MPI_Comm comm : comms) all.emplace_back(work, comm);
  for (std::thread& one : all) one.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

/// Of the interface for frameworks. A message may be shorter than the buffer, whose rest keeps its contents.
void messages() {
  constexpr std::size_t bytes = 30000;
  stretto_group* group = from_stretto<decltype(&stretto_group_make)>("stretto_group_make")(nullptr, 0, 0);
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

/// Returns the error of a sum on device memory; checks it if there is none.
int sum(std::size_t count, MPI_Comm comm = world()) {
  const int ranks = size_of(comm);
  Buffer input(count * sizeof(int), has_driver());
  auto output = std::make_unique<Buffer>(count * sizeof(int), has_driver());
  std::fill_n(ints(input), count, ranks == 1 ? 1 : world_rank() + 1);
  const int error =
      MPI_Allreduce(input.address, output->address, static_cast<int>(count), MPI_INT, MPI_SUM, comm);
  if (error == MPI_SUCCESS) {
    CHECK(std::all_of(ints(*output), ints(*output) + count,
                      [&](int one) { return one == ranks * (ranks + 1) / 2; }));
  }
  return error;
}

/// Some call of the driver from now on fails; 0: none.
void fail_at(int call) {
  if (has_driver()) from_driver<void (*)(int)>("stand_in_fail")(call);
}

/// Whatever call of the driver fails, no rank hangs, the error is told, and the next call is right.
void errors() {
  MPI_Comm_set_errhandler(world(), MPI_ERRORS_RETURN);
  int failed = 0;
  for (int n = 1; n <= 60; ++n) {
    fail_at(n);
    failed += sum(20000) != MPI_SUCCESS ? 1 : 0;
    fail_at(0);
    CHECK(sums_right(world(), 20000));
    CHECK(sum(20000) == MPI_SUCCESS);
  }
  if (has_driver()) CHECK(failed > 10, std::to_string(failed));
  if (has_driver()) CHECK(from_driver<int (*)()>("stand_in_pushed")() == 0);
}

/// Returns the error of a persistent sum on device memory, made and started twice; checks it if there is
/// none.
int repeated_sum(int count, MPI_Comm comm) {
  Buffer input(static_cast<std::size_t>(count) * sizeof(int), has_driver());
  Buffer output(static_cast<std::size_t>(count) * sizeof(int), has_driver());
  MPI_Request request{};
  int error =
      INIT(Allreduce)(input.address, output.address, count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
  if (error != MPI_SUCCESS) return error;
  for (int time = 1; time <= 2; ++time) {
    std::fill_n(ints(input), count, time);
    MPI_Start(&request);
    const int its = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (its != MPI_SUCCESS) error = its;
    if (its == MPI_SUCCESS)
      CHECK(std::all_of(ints(output), ints(output) + count, [&](int one) { return one == time; }));
  }
  CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
  return error;
}

/// The same for calls of the library. It cannot tell other ranks that one of them has nothing to send, so
/// there are none.
void errors_alone() {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const auto try_all = [&](const std::function<int()>& sum_alone) {
    int failed = 0;
    for (int n = 1; n <= 60; ++n) {
      fail_at(n);
      failed += sum_alone() != MPI_SUCCESS ? 1 : 0;
      fail_at(0);
      CHECK(sum_alone() == MPI_SUCCESS);
    }
    if (has_driver()) CHECK(failed > 10, std::to_string(failed));
  };
  try_all([] { return sum(20000, MPI_COMM_SELF); });
  try_all([] { return repeated_sum(20000, MPI_COMM_SELF); });
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
        from_stretto<void (*)(void*)>("stretto_set_device_stream")(stream);
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
  // A library would read it.
  if (library_reduces()) return;
  MPI_Comm_set_errhandler(world(), MPI_ERRORS_RETURN);
  auto freed = std::make_unique<Buffer>(count * sizeof(int), has_driver());
  void* const address = freed->address;
  if (has_driver()) freed.reset();
  const int error = MPI_Allreduce(MPI_IN_PLACE, address, count, MPI_INT, MPI_SUM, world());
  if (has_driver()) CHECK(error != MPI_SUCCESS);
  CHECK(sums_right(world(), 20000));
}

/// A library that takes device memory gets it as it is.
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
        wait(&r);
      }
      CHECK(std::all_of(ints(output), ints(output) + count,
                        [&](int one) { return one == ranks * (ranks + 1) / 2; }));
    }
  }
  if (has_driver()) CHECK((from_driver<int (*)()>("stand_in_copies")() == 0) == library_reduces());
}

/// Of the interface for frameworks, with a library that takes device memory: what is in a stream that the
/// program has named is seen, though the library does not know of it.
void aware_streams() {
  constexpr std::size_t bytes = 20000;
  const int ranks = size_of(world());
  stretto_group* group = from_stretto<decltype(&stretto_group_make)>("stretto_group_make")(nullptr, 0, 0);
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

/// What the device is still to write to an output, and to an input in another context, comes before the call.
void order() {
  constexpr int count = 3000;
  constexpr int filled = 0x11;
  const auto ranks = static_cast<std::size_t>(size_of(world()));
  const std::size_t bytes = count * ranks * sizeof(int) + sizeof(int);
  for (const Collective& collective : collectives) {
    for (const char* from : {"stand_in_allocate", "stand_in_allocate_elsewhere"}) {
      for (const Form form : {Form::blocking, Form::non_blocking}) {
        std::array<std::vector<char>, 2> outputs;
        for (const bool on_device : {false, true}) {
          const bool there = has_driver() && on_device;
          Buffer input(bytes, there, from);
          Buffer output(bytes, there);
          for (std::size_t i = 0; i < bytes / sizeof(int); ++i)
            ints(input)[i] = static_cast<int>(i) * (world_rank() + 3);
          if (there) {
            from_driver<void (*)(void*, void*, int, std::size_t, int)>("stand_in_set_later")(
                nullptr, output.address, filled, bytes, 20);
          } else {
            std::memset(output.data, filled, bytes);
          }
          const Arguments arguments{input.address, output.address, count, 1 % static_cast<int>(ranks)};
          Asked asked{form};
          CHECK(collective.call(arguments, asked) == MPI_SUCCESS);
          if (form == Form::non_blocking) wait(&asked.request);
          // The last bytes are not the call's.
          while (static_cast<volatile char&>(output.data[bytes - 1]) != filled) std::this_thread::yield();
          outputs.at(on_device ? 1 : 0).assign(output.data, output.data + bytes);
        }
        CHECK(outputs[0] == outputs[1],
              std::string(collective.name) + " from " + from + (form == Form::blocking ? ", blocking" : ""));
      }
    }
  }
}

/// A persistent call that has failed can be started again.
void again() {
  MPI_Comm_set_errhandler(world(), MPI_ERRORS_RETURN);
  constexpr int count = 20000;
  const int ranks = size_of(world());
  Buffer input(count * sizeof(int), has_driver());
  Buffer output(count * sizeof(int), has_driver());
  MPI_Request request{};
  const auto init = from_stretto<int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
                                         const char*, MPI_Request*)>("stretto_allreduce_init");
  CHECK(init(input.address, output.address, count, MPI_INT, MPI_SUM, world(), MPI_INFO_NULL, nullptr,
             &request) == MPI_SUCCESS);
  int failed = 0;
  for (int n = 1; n <= 40; ++n) {
    std::fill_n(ints(input), count, n + world_rank());
    fail_at(n);
    MPI_Start(&request);
    failed += MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS ? 1 : 0;
    fail_at(0);
    MPI_Start(&request);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, std::to_string(n));
    CHECK(std::all_of(ints(output), ints(output) + count,
                      [&](int one) { return one == n * ranks + ranks * (ranks - 1) / 2; }));
  }
  if (has_driver()) CHECK(failed > 10, std::to_string(failed));
  MPI_Request_free(&request);
}

/// The output of the first rank of an exscan has no meaning: it may be too short.
void exscan() {
  constexpr int count = 20000;
  MPI_Comm comm{};
  MPI_Comm_split(world(), 0, world_rank() == device_rank ? -1 : world_rank(), &comm);
  Buffer input(count * sizeof(int), has_driver());
  Buffer output(has_driver() ? sizeof(int) : count * sizeof(int), has_driver());
  std::fill_n(ints(input), count, 1);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  for (const bool blocking : {false, true}) {
    MPI_Request request{};
    if (blocking) {
      MPI_Exscan(input.address, output.address, count, MPI_INT, MPI_SUM, comm);
    } else {
      MPI_Iexscan(input.address, output.address, count, MPI_INT, MPI_SUM, comm, &request);
      wait(&request);
    }
    if (rank > 0)
      CHECK(std::all_of(ints(output), ints(output) + count, [&](int one) { return one == rank; }));
  }
  MPI_Comm_free(&comm);
}

int handled = 0;
void handle(MPI_Comm* /*comm*/, int* /*code*/, ...) {
  ++handled;
}

/// Each error of a call is told once.
void told() {
  MPI_Errhandler handler{};
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm comm{};
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  constexpr int count = 20000;
  int failed = 0;
  for (const bool blocking : {false, true}) {
    for (int n = 1; n <= 60; ++n) {
      Buffer data(count * sizeof(int), has_driver());
      std::fill_n(ints(data), count, n);
      handled = 0;
      fail_at(n);
      MPI_Request request = MPI_REQUEST_NULL;
      int error = MPI_SUCCESS;
      if (blocking) {
        error = MPI_Allreduce(MPI_IN_PLACE, data.address, count, MPI_INT, MPI_SUM, comm);
      } else {
        error = MPI_Iallreduce(MPI_IN_PLACE, data.address, count, MPI_INT, MPI_SUM, comm, &request);
        if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
      fail_at(0);
      CHECK(handled == (error == MPI_SUCCESS ? 0 : 1), std::to_string(n) + ": " + std::to_string(handled));
      if (error == MPI_SUCCESS)
        CHECK(std::all_of(ints(data), ints(data) + count, [&](int one) { return one == n; }));
      failed += error == MPI_SUCCESS ? 0 : 1;
    }
  }
  if (has_driver()) CHECK(failed > 20, std::to_string(failed));
  MPI_Comm_free(&comm);
  MPI_Errhandler_free(&handler);
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
  if (part == "repeated") repeated();
  if (part == "outstanding") outstanding();
  if (part == "interleaved") interleaved();
  if (part == "messages") messages();
  if (part == "mixed") mixed();
  if (part == "threads") threads();
  if (part == "errors") errors();
  if (part == "errors_alone") errors_alone();
  if (part == "lost") lost();
  if (part == "streams") streams();
  if (part == "memory") memory();
  if (part == "forks") forks();
  if (part == "order") order();
  if (part == "again") again();
  if (part == "exscan") exscan();
  if (part == "told") told();
  if (part == "aware") aware();
  if (part == "aware_streams") aware_streams();
  if (has_driver()) CHECK(from_driver<int (*)()>("stand_in_pushed")() == 0);
  if (has_driver() && part != "lost") CHECK(from_driver<int (*)()>("stand_in_copies_under_way")() == 0);
  MPI_Finalize();
}
