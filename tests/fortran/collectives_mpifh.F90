! SPDX-License-Identifier: Apache-2.0
! collectives.inc by the binding `include 'mpif.h'`.
#define MPIFH
#include "collectives.inc"
