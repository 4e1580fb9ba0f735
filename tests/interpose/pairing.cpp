// SPDX-License-Identifier: Apache-2.0
// A program for every MPI library: collectives of each form, with a datatype and
// an operation of its own. Argument `beside` FILE: first loads another MPI library, which is never called.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

void add(void* in, void* into, int* length, MPI_Datatype* /*datatype*/) {
  for (int i = 0; i < 2 * *length; ++i) static_cast<int*>(into)[i] += static_cast<int*>(in)[i];
}

void check(bool is_right, const char* what) {
  if (is_right) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// Intel MPI 2021.19 has no MPI_ERRORS_RETURN in its library of the standard ABI.
bool returns_errors() {
#ifdef MPI_ABI
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  return !std::string_view(text).starts_with("Intel");
#else
  return true;
#endif
}

void call_all(MPI_Comm comm) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  constexpr int count = 10000;
  const std::vector<int> in(count, rank + 1);
  std::vector<int> out(count);
  const std::vector<int> sum(count, ranks * (ranks + 1) / 2);

  check(MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS, "MPI_Allreduce");
  check(out == sum, "the sum");

  out.assign(count, 0);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm, &request);
  MPI_Status status;
  MPI_Wait(&request, &status);
  check(request == MPI_REQUEST_NULL && out == sum, "MPI_Iallreduce");

  MPI_Datatype pair{};
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Op own{};
  MPI_Op_create(add, 1, &own);
  out.assign(count, 0);
  MPI_Reduce(in.data(), out.data(), count / 2, pair, own, 0, comm);
  MPI_Bcast(out.data(), count, MPI_INT, 0, comm);
  check(out == sum, "MPI_Reduce by an operation of the program");
  MPI_Op_free(&own);
  MPI_Type_free(&pair);

  std::vector<int> all(static_cast<std::size_t>(ranks), -1);
  MPI_Allgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, comm);
  for (int i = 0; i < ranks; ++i) check(all[static_cast<std::size_t>(i)] == i, "MPI_Allgather");

  // An error is the library's.
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (returns_errors()) {
    check(MPI_Bcast(out.data(), 1, MPI_INT, ranks, comm) != MPI_SUCCESS, "a root that is not there");
  }
}

int run(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == "beside") {
    if (dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return EXIT_FAILURE;
    }
  }
  int given = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
  int asked = -1;
  MPI_Query_thread(&asked);
  check(asked == given && given >= MPI_THREAD_FUNNELED, "the thread level");
  MPI_Comm comm{};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  call_all(comm);
  MPI_Comm_free(&comm);
  MPI_Barrier(MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::puts("right");
  MPI_Finalize();
  return EXIT_SUCCESS;
}

}  // namespace

#ifdef MODULE  // of opens_late.c
extern "C" int main_of_module(int argc, char** argv) {
  return run(argc, argv);
}
#else
int main(int argc, char** argv) {
  return run(argc, argv);
}
#endif
