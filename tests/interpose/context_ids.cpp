// SPDX-License-Identifier: Apache-2.0
// A program that uses up the library's context ids. Stretto needs none.
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "check.hpp"

namespace {

/// Returns what this process writes to standard error while `action` runs.
template <typename Action>
std::string standard_error_of(Action action) {
  std::FILE* file = std::tmpfile();
  std::fflush(stderr);
  const int saved = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  action();
  std::fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm known{};
  MPI_Comm_dup(MPI_COMM_WORLD, &known);
  CHECK(sums_right(known));
  CHECK(choice(known, 1000) == forced_spec());

  std::vector<MPI_Comm> all;
  for (;;) {
    MPI_Comm comm{};
    if (MPI_Comm_dup(MPI_COMM_WORLD, &comm) != MPI_SUCCESS) break;
    all.push_back(comm);
    CHECK(all.size() < 100000);
  }
  CHECK(all.size() > 100);
  const std::string said = standard_error_of([&] {
    for (int turn = 0; turn < 3; ++turn) {
      CHECK(sums_right(all.back()) && sums_right(all.front(), 1000) && sums_right(known));
    }
  });
  CHECK(said.empty(), said);
  CHECK(choice(all.back(), 1000) == forced_spec() && choice(known, 1000) == forced_spec());
  // The program's handler is in place again.
  MPI_Errhandler handler{};
  MPI_Comm_get_errhandler(all.back(), &handler);
  CHECK(handler == MPI_ERRORS_RETURN);

  for (MPI_Comm& comm : all) MPI_Comm_free(&comm);
  MPI_Comm fresh{};
  CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &fresh) == MPI_SUCCESS);
  CHECK(sums_right(fresh) && choice(fresh, 1000) == forced_spec());
  MPI_Comm_free(&fresh);
  MPI_Comm_free(&known);
  MPI_Finalize();
}
