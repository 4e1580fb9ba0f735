// SPDX-License-Identifier: Apache-2.0
// Makes some calls, then a file, and waits for another file. Each rank has a child that makes calls, too, and
// stays.
//
//   live MADE AWAITED
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { calls = 7, calls_of_child = 100 };

static void wait_for(const char* file) {
  while (access(file, F_OK) != 0) usleep(10000);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double value = 1;
  double sum = 0;
  for (int i = 0; i < calls; ++i) MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Ibcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  int told[2];
  if (pipe(told) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < calls_of_child; ++i)
      MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    close(told[1]);
    wait_for(argv[2]);
    _exit(sum == 1 ? 0 : 1);
  }
  close(told[1]);
  char none;
  if (read(told[0], &none, 1) != 0) return 1;  // until the child has made its calls

  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) close(open(argv[1], O_CREAT | O_WRONLY, 0600));
  wait_for(argv[2]);
  int status = 1;
  waitpid(child, &status, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && status == 0) puts("right");
  MPI_Finalize();
}
