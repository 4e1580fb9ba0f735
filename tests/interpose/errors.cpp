// SPDX-License-Identifier: Apache-2.0
// Errors of a program give the same error class as in the library, and handlers are called as often.
#include <functional>
#include <vector>

#include "check.hpp"
#include "each.hpp"

namespace {

int on_comm = 0;
int on_world = 0;
void count_comm(MPI_Comm* /*comm*/, int* /*error*/, ...) {
  ++on_comm;
}
void count_world(MPI_Comm* /*comm*/, int* /*error*/, ...) {
  ++on_world;
}

struct Outcome {
  int error;
  int on_comm;
  int on_world;
  bool operator==(const Outcome&) const = default;
  [[nodiscard]] std::string text() const {
    return "class " + std::to_string(error) + ", handler of the communicator " + std::to_string(on_comm) +
           ", of MPI_COMM_WORLD " + std::to_string(on_world);
  }
};

using Function = int (*)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
struct Case {
  const char* name;
  std::function<int(Function, MPI_Comm)> call;
};

double in[64];
double out[64];
int ints[64];

void add(void* from, void* into, int* length, MPI_Datatype* /*datatype*/) {
  for (int i = 0; i < *length; ++i) static_cast<int*>(into)[i] += static_cast<int*>(from)[i];
}

std::vector<Case> all_cases() {
  MPI_Datatype derived{};
  MPI_Type_contiguous(2, MPI_INT, &derived);
  MPI_Type_commit(&derived);
  MPI_Datatype uncommitted{};
  MPI_Type_contiguous(1, MPI_INT, &uncommitted);
  MPI_Op own{};
  MPI_Op_create(add, 1, &own);
#define CASE(name, ...)                                                              \
  {                                                                                  \
    name, [=](Function f, [[maybe_unused]] MPI_Comm comm) { return f(__VA_ARGS__); } \
  }
  std::vector<Case> cases{
      CASE("null communicator", in, out, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_NULL),
      CASE("null operation", in, out, 8, MPI_DOUBLE, MPI_OP_NULL, comm),
      CASE("null datatype", in, out, 8, MPI_DATATYPE_NULL, MPI_SUM, comm),
      CASE("null datatype, own operation", in, out, 8, MPI_DATATYPE_NULL, own, comm),
      CASE("null operation and datatype", in, out, 8, MPI_DATATYPE_NULL, MPI_OP_NULL, comm),
      CASE("null operation, derived type", in, out, 8, derived, MPI_OP_NULL, comm),
      CASE("bitwise on floats", in, out, 8, MPI_DOUBLE, MPI_BAND, comm),
      CASE("sum of bytes", in, out, 8, MPI_BYTE, MPI_SUM, comm),
      CASE("location of a plain type", in, out, 8, MPI_INT, MPI_MINLOC, comm),
      CASE("sum of pairs", in, out, 8, MPI_2INT, MPI_SUM, comm),
      CASE("maximum of complex", in, out, 8, MPI_C_DOUBLE_COMPLEX, MPI_MAX, comm),
      CASE("sum of a derived type", in, out, 8, derived, MPI_SUM, comm),
      CASE("same buffer", in, in, 8, MPI_DOUBLE, MPI_SUM, comm),
      CASE("same buffer, own operation", ints, ints, 8, MPI_INT, own, comm),
      CASE("output in place", in, MPI_IN_PLACE, 8, MPI_DOUBLE, MPI_SUM, comm),
      CASE("uncommitted type", in, out, 8, uncommitted, own, comm),
      CASE("nothing, null operation", in, out, 0, MPI_DOUBLE, MPI_OP_NULL, comm),
      CASE("nothing, null datatype", in, out, 0, MPI_DATATYPE_NULL, MPI_SUM, comm),
      CASE("nothing, uncommitted type", in, out, 0, uncommitted, own, comm),
      CASE("nothing, undefined operation", in, out, 0, MPI_DOUBLE, MPI_BAND, comm),
      CASE("nothing, same buffer", in, in, 0, MPI_DOUBLE, MPI_SUM, comm),
      CASE("nothing, null buffers", nullptr, nullptr, 0, MPI_DOUBLE, MPI_SUM, comm),
      CASE("nothing, output in place", in, MPI_IN_PLACE, 0, MPI_DOUBLE, MPI_SUM, comm),
  };
#ifdef OPEN_MPI
  // MPICH 4.0 itself crashes.
  cases.push_back(CASE("negative count", in, out, -1, MPI_DOUBLE, MPI_SUM, comm));
#else
  // Open MPI 4 itself crashes.
  cases.push_back(CASE("null input", nullptr, out, 8, MPI_DOUBLE, MPI_SUM, comm));
  cases.push_back(CASE("null output", in, nullptr, 8, MPI_DOUBLE, MPI_SUM, comm));
  cases.push_back(CASE("null output in place", MPI_IN_PLACE, nullptr, 8, MPI_DOUBLE, MPI_SUM, comm));
#ifndef MPI_ABI  // its handles are pointers, which must be valid, as those of Open MPI
  cases.push_back(CASE("operation as communicator", in, out, 8, MPI_DOUBLE, MPI_SUM, MPI_SUM));
  cases.push_back(CASE("datatype as operation", in, out, 8, MPI_DOUBLE, MPI_DOUBLE, comm));
  cases.push_back(CASE("zeros", in, out, 8, 0, 0, 0));
#endif
#endif
#undef CASE
  return cases;
}

Outcome outcome(const Case& test, Function function, MPI_Comm comm) {
  on_comm = on_world = 0;
  const int error = error_class(test.call(function, comm));
  return {error, on_comm, on_world};
}

void run_all() {
  MPI_Comm comm{};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler comms{};
  MPI_Errhandler worlds{};
  MPI_Comm_create_errhandler(count_comm, &comms);
  MPI_Comm_create_errhandler(count_world, &worlds);
  MPI_Comm_set_errhandler(comm, comms);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, worlds);
  int failures = 0;
  // The calls are on a communicator that Stretto has not seen yet, and then on one that it uses.
  for (const char* when : {"before", "after"}) {
    int errors = 0;
    for (const Case& test : all_cases()) {
      const Outcome wanted = outcome(test, LIBRARY(PMPI_Allreduce), comm);
      const Outcome got = outcome(test, MPI_Allreduce, comm);
      if (wanted.error != MPI_SUCCESS) ++errors;
      if (got == wanted) continue;
      ++failures;
      std::fprintf(stderr, "rank %d: %s, %s the first good call: %s; without Stretto: %s\n", world_rank(),
                   test.name, when, got.text().c_str(), wanted.text().c_str());
    }
    CHECK(errors >= 10);
    on_comm = on_world = 0;
    CHECK(sums_right(comm));
    CHECK(on_comm == 0 && on_world == 0);
    // The handler is still that of the program.
    MPI_Errhandler now{};
    MPI_Comm_get_errhandler(comm, &now);
    CHECK(now == comms);
    MPI_Errhandler_free(&now);
  }
  CHECK(failures == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&comms);
  MPI_Errhandler_free(&worlds);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  under_each_spec(argc, argv, run_all);
  MPI_Finalize();
}
