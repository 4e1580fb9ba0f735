// SPDX-License-Identifier: Apache-2.0
// The way on to the library for collectives of the interface for frameworks, whose counts have 64 bits.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "interpose/interface/group.hpp"
#include "interpose/passing/entry.hpp"
#include "mpi/mpi.hpp"

namespace stretto {

/// Counts of bytes as a library without 64-bit counts takes them: in units of several bytes if there are
/// many. The ranks of a call may have different units, since the type signature is the same.
class Units {
 public:
  /// Takes in a count, or counts or displacements, one for each rank.
  void add(std::int64_t count) {
    largest_ = std::max(largest_, count);
    common_ = std::gcd(common_, count);
  }
  void add(const RawCount* counts, int size) {
    for (int i = 0; i < size; ++i) add(counts[i]);
  }

  [[nodiscard]] bool fit() const { return largest_ / unit_ <= INT_MAX; }
  /// Chooses a unit by which all fit. Returns false if there is none.
  [[nodiscard]] bool choose(bool are_bytes) {
    constexpr std::int64_t longest = std::int64_t{1} << 20;
    while (are_bytes && !fit() && unit_ < longest && common_ % (2 * unit_) == 0) unit_ *= 2;
    return fit();
  }
  [[nodiscard]] int of(std::int64_t count) const { return static_cast<int>(count / unit_); }
  /// Returns the datatype of a unit, which the work holds.
  [[nodiscard]] MPI_Datatype datatype(MPI_Datatype of_count, stretto_work& work) const {
    if (unit_ == 1) return of_count;
    if (work.datatype == MPI_Datatype{}) {
      mpi.Type_contiguous(static_cast<int>(unit_), of_count, &work.datatype);
      mpi.Type_commit(&work.datatype);
    }
    return work.datatype;
  }

 private:
  std::int64_t largest_ = 0;
  std::int64_t common_ = 0;
  std::int64_t unit_ = 1;
};

/// The type of a parameter in a library's function with counts of int.
template <typename T>
using Narrowed = std::conditional_t<std::is_same_v<T, RawCount>, int,
                                    std::conditional_t<std::is_same_v<T, const RawCount*>, const int*, T>>;

/// The library's functions for the calls of a collective that no schedule carries out: with 64-bit counts,
/// which libraries of MPI 3 lack, and with int.
template <typename Function>
struct LibraryFunctions;
template <typename... Arguments>
struct LibraryFunctions<int(Arguments...)> {
  LibraryFunctions(const char* wide_name, const char* name) : wide(wide_name), narrow(name) {}

  Next<int(Arguments...)> wide;
  Next<int(Narrowed<Arguments>...)> narrow;
};

/// The function to which one call goes on.
template <typename... Arguments>
class Onward {
 public:
  Onward(const LibraryFunctions<int(Arguments...)>& functions, int size, stretto_work& work)
      : functions_(functions), size_(size), work_(work) {}

  int operator()(Arguments... arguments) const {
    Units units;
    (count_in(units, arguments), ...);
    if (!units.fit() && functions_.wide.address() != nullptr) return functions_.wide(arguments...);
    if (!units.choose(!(std::is_same_v<Arguments, RawOp> || ...))) {
      work_.error =
          "the message is longer than the int of this job's MPI library can count: 2^31 elements, or bytes "
          "in "
          "parts that are not multiples of a large power of two; split it";
      return mpi.err_count;
    }
    return functions_.narrow(narrowed(units, arguments)...);
  }

 private:
  template <typename T>
  void count_in(Units& units, T argument) const {
    if constexpr (std::is_same_v<T, RawCount>) units.add(argument);
    if constexpr (std::is_same_v<T, const RawCount*>) units.add(argument, size_);
  }
  template <typename T>
  Narrowed<T> narrowed(const Units& units, T argument) const {
    if constexpr (std::is_same_v<T, RawCount>) {
      return units.of(argument);
    } else if constexpr (std::is_same_v<T, const RawCount*>) {
      std::vector<int>& all = work_.narrowed.emplace_back();
      for (int i = 0; i < size_; ++i) all.push_back(units.of(argument[i]));
      return all.data();
    } else if constexpr (std::is_same_v<T, RawDatatype>) {
      return units.datatype(argument, work_);
    } else {
      return argument;
    }
  }

  const LibraryFunctions<int(Arguments...)>& functions_;
  int size_;
  stretto_work& work_;
};

}  // namespace stretto
