! SPDX-License-Identifier: Apache-2.0
! A legal program that hangs if a non-blocking reduction by an operation of the program's does not go on in functions
! that wait: rank 0 calls them before it waits for its request, rank 1 after it.
module operations
  implicit none
contains
  subroutine add(left, right, length, type)
    integer :: length, type
    integer :: left(length), right(length)
    right = left + right
    if (type < -huge(type)) print *, 'no datatype'
  end subroutine
end module

program waits
  use operations
  implicit none
  include 'mpif.h'
  integer, parameter :: n = 30000
  integer :: given(n), sums(n), rank, request, op, ierror, turn, function

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Op_create(add, .true., op, ierror)
  do function = 1, 3
    do turn = 1, 3
      given = rank + turn
      call MPI_Iallreduce(given, sums, n, MPI_INTEGER, op, MPI_COMM_WORLD, request, ierror)
      if (rank == 0) call wait_in(function)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
      if (rank == 1) call wait_in(function)
      if (any(sums /= 2 * turn + 1)) call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    end do
  end do
  call MPI_Op_free(op, ierror)
  call MPI_Finalize(ierror)

contains

  subroutine wait_in(which)
    integer, intent(in) :: which
    integer :: made, number
    logical :: found
    select case (which)
    case (1)
      number = 1
      if (rank == 1) call MPI_Send(number, 1, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, ierror)
      found = rank == 1
      do while (.not. found)
        call MPI_Iprobe(1, 5, MPI_COMM_WORLD, found, MPI_STATUS_IGNORE, ierror)
      end do
      if (rank == 0) call MPI_Recv(number, 1, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    case (2)
      call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, made, ierror)
      call MPI_Comm_free(made, ierror)
    case default
      call MPI_Cart_create(MPI_COMM_WORLD, 1, [2], [.false.], .false., made, ierror)
      call MPI_Comm_free(made, ierror)
    end select
  end subroutine
end program
