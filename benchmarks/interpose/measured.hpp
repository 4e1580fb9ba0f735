// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../../tests/interpose/library.hpp"

/// Returns the value below which such a share of them lies.
inline double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

/// Returns the seconds of the slowest rank. All begin together. Stretto does not see what this itself calls.
double time_of(const auto& work) {
  LIBRARY(PMPI_Barrier)(MPI_COMM_WORLD);
  const double began = MPI_Wtime();
  work();
  const double own = MPI_Wtime() - began;
  double slowest = 0;
  LIBRARY(PMPI_Allreduce)(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}
