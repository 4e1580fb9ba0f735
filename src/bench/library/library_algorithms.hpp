// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bench/cases/collective.hpp"
#include "mpi/mpi.hpp"

namespace stretto::bench {

/// A control variable of the MPI library, with its value while an algorithm is forced and its usual one.
struct LibrarySetting {
  MPI_T_cvar_handle variable;
  bool is_flag;
  int forced;
  int usual;
};

/// One of the MPI library's own algorithms.
struct LibraryAlgorithm {
  /// Its calls use this communicator: a copy of MPI_COMM_WORLD that was made while the settings were in
  /// force.
  MPI_Comm communicator;
  std::vector<LibrarySetting> settings;
};

/// While this object lives, the library uses the algorithm on the algorithm's communicator. nullptr: no
/// change.
class Forced {
 public:
  explicit Forced(const LibraryAlgorithm* algorithm);
  Forced(const Forced&) = delete;
  Forced& operator=(const Forced&) = delete;
  ~Forced();

 private:
  const LibraryAlgorithm* algorithm_;
};

/// The MPI library's own algorithms, as specs of the measuring program: `native(ring)`, or, where the library
/// cuts messages, `native(pipeline:segment_bytes=128KiB)`. They have the library's own names, which its
/// control variables (MPI_T) list. The variables are read at the first use, after MPI_Init.
class LibraryAlgorithms {
 public:
  /// Returns the names of the library's algorithms for a collective in a form. There may be none.
  static std::vector<std::string> names(Collective collective, Form form);
  /// Whether algorithms can only be chosen when a job is started. If so, `native(NAME)` works only in a job
  /// that was started with that algorithm, and `native` means the same there.
  static bool by_launch();

  /// Returns an algorithm. Collective over MPI_COMM_WORLD at the first use of each. Throws
  /// std::invalid_argument with one line if there is no such algorithm, or it had to be chosen when the job
  /// was started.
  const LibraryAlgorithm* find(Collective collective, Form form, const std::string& name);

 private:
  std::map<std::tuple<Collective, Form, std::string>, LibraryAlgorithm> known_;
};

}  // namespace stretto::bench
