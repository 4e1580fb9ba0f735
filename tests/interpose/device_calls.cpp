// SPDX-License-Identifier: Apache-2.0
// The same calls on host and on device memory: every collective in all forms, with gaps, with the result of a
// call in another call's gaps, and after writes that the device has not yet done.
#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "device_parts.hpp"

namespace {

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

/// A type with every second int of a buffer. The other ints must keep their values.
MPI_Datatype spaced() {
  static const MPI_Datatype type = [] {
    MPI_Datatype its{};
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &its);
    MPI_Type_commit(&its);
    return its;
  }();
  return type;
}

/// The blocks that each rank sends and receives in calls whose blocks differ. They leave gaps.
struct Unequal {
  std::array<int, 16> counts;
  std::array<int, 16> places;
  std::array<int, 16> offsets;
  std::array<MPI_Datatype, 16> types;
};
/// `own`: the rank that is added to each other rank.
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

/// Checks that a call with buffers on some rank's device gives the same result as on host memory. A
/// persistent call is started three times.
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
    if (form == Form::non_blocking) wait_for(&asked.request);
    for (int time = 0; form == Form::persistent && time < 3; ++time) {
      fill(time);
      CHECK(MPI_Start(&asked.request) == MPI_SUCCESS);
      wait_for(&asked.request);
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

/// Calls whose results leave gaps in an output of `count` ints for each rank. The results of the second call
/// (`part` 1) are in the gaps of the first.
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

/// Data that two calls in flight, and the device itself, write to each other's gaps are kept.
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
      // This int comes after all results.
      ints(output)[ints_in_all - 1] = 4711;
      CHECK(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
      outputs.at(on_device ? 1 : 0).assign(output.data, output.data + ints_in_all * sizeof(int));
    }
    CHECK(outputs[0] == outputs[1], one.name);
  }
}

/// Writes of the device to an output, and to an input in another context, come before the call.
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
          if (form == Form::non_blocking) wait_for(&asked.request);
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
      wait_for(&request);
    }
    if (rank > 0)
      CHECK(std::all_of(ints(output), ints(output) + count, [&](int one) { return one == rank; }));
  }
  MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
  return run_part(argc, argv,
                  {{"calls", calls},
                   {"persistent", persistent},
                   {"interleaved", interleaved},
                   {"order", order},
                   {"exscan", exscan}});
}
