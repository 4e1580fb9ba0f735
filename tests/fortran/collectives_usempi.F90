! SPDX-License-Identifier: Apache-2.0
! collectives.inc by the binding `use mpi`.
#define USE_MPI
#include "collectives.inc"
