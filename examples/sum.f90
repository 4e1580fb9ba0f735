! SPDX-License-Identifier: Apache-2.0
! A sum of 16 MiB over all ranks. The program does not know of Stretto:
!
!     mpifort examples/sum.f90 -o sum
!     stretto run -- mpirun -np 2 ./sum
program sum
  use mpi_f08
  implicit none
  integer, parameter :: count = 4194304
  real, allocatable :: mine(:), total(:)
  integer :: rank, ranks

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  allocate (mine(count), total(count))
  mine = rank + 1
  call MPI_Allreduce(mine, total, count, MPI_REAL, MPI_SUM, MPI_COMM_WORLD)
  if (any(total /= ranks * (ranks + 1) / 2)) error stop "the sum is wrong"
  if (rank == 0) print '(a, i0, a)', "the sum over ", ranks, " ranks is right"
  call MPI_Finalize()
end program sum
