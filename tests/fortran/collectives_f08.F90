! SPDX-License-Identifier: Apache-2.0
! collectives.inc by the binding `use mpi_f08`.
#define USE_MPI_F08
#include "collectives.inc"
