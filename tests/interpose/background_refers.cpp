// SPDX-License-Identifier: Apache-2.0
// As most programs are written: MPI_Op_create and the functions of windows are named.
#define REFERS
#include "background.cpp"  // NOLINT(bugprone-suspicious-include)
