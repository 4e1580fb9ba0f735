// SPDX-License-Identifier: Apache-2.0
// Definitions for the programs of this folder. They are plain MPI programs that do not use Stretto. Under the
// preload their MPI_Allreduce is Stretto's. LIBRARY(PMPI_Allreduce) is the library's, for comparison.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "library.hpp"

#ifdef MPI_ABI
// The standard ABI has the numbers of handles under other names.
using MPI_Fint = int;
#define MPI_Type_c2f MPI_Type_toint
#define MPI_Request_c2f MPI_Request_toint
#define MPI_Request_f2c MPI_Request_fromint
#endif

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

inline MPI_Comm dup_of(MPI_Comm comm) {
  MPI_Comm made{};
  MPI_Comm_dup(comm, &made);
  return made;
}

/// What a program runs now, if it runs several things (each.hpp).
inline std::string current_step;
/// The spec that the program itself forces now, if it does.
inline std::string spec_forced_now;

[[noreturn]] inline void fail(const char* file, int line, const char* condition, const std::string& context) {
  std::fprintf(stderr, "%s:%d: rank %d: CHECK(%s) failed %s%s%s\n", file, line, world_rank(), condition,
               context.c_str(), current_step.empty() ? "" : " in ", current_step.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

/// CHECK(condition) or CHECK(condition, text that describes the case).
#define CHECK(condition, ...)                                                                         \
  do {                                                                                                \
    if (!(condition)) fail(__FILE__, __LINE__, #condition, std::string() __VA_OPT__(+(__VA_ARGS__))); \
  } while (false)

template <typename Function>
Function from_stretto(const char* name) {
  const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  CHECK(function != nullptr, name);
  return function;
}

/// Returns the spec that the test forces, or "" if none.
inline std::string forced_spec() {
  if (!spec_forced_now.empty()) return spec_forced_now;
  const char* spec = std::getenv("STRETTO_ALLREDUCE");
  return spec == nullptr ? "" : spec;
}

/// Whether the library reduces. Then only MPI's guarantees can be expected.
inline bool library_reduces() {
  return forced_spec().empty() || forced_spec().starts_with("native");
}

/// Returns the spec that Stretto, which must be present, would choose for a call of `bytes` bytes.
inline std::string choice(MPI_Comm comm, std::size_t bytes, const std::string& call = "allreduce") {
  using Choice = int (*)(const char*, MPI_Comm, std::size_t, char*, int);
  static const auto ask = from_stretto<Choice>("stretto_choice");
  std::array<char, 200> text{};
  CHECK(ask(call.c_str(), comm, bytes, text.data(), static_cast<int>(text.size())) == MPI_SUCCESS, call);
  return text.data();
}

inline int error_class(int error) {
  int result = 0;
  MPI_Error_class(error, &result);
  return result;
}

/// Random numbers that are the same in every run: splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

/// Returns a hash (FNV-1a), to compare the data of ranks by one number.
inline std::uint64_t hash(std::uint64_t seed, const void* data, std::size_t bytes) {
  for (const char c : std::string_view(static_cast<const char*>(data), bytes)) {
    seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }
  return seed;
}

/// Returns whether a small sum over `comm` by Stretto is right.
inline bool sums_right(MPI_Comm comm, int count = 7) {
  const int ranks = size_of(comm);
  std::string input(static_cast<std::size_t>(count) * sizeof(int), '\0');
  std::string output = input;
  auto* in = reinterpret_cast<int*>(input.data());
  auto* out = reinterpret_cast<int*>(output.data());
  for (int i = 0; i < count; ++i) in[i] = i + rank_in(comm);
  if (MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS) return false;
  for (int i = 0; i < count; ++i) {
    if (out[i] != i * ranks + ranks * (ranks - 1) / 2) return false;
  }
  return true;
}
