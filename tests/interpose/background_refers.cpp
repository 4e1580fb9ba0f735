// SPDX-License-Identifier: Apache-2.0
// Like most programs, this one refers to MPI_Op_create and to the functions of windows.
#define REFERS
#include "background.cpp"  // NOLINT(bugprone-suspicious-include)
