// SPDX-License-Identifier: Apache-2.0
// Measures what Horovod does with gradients that it compresses to float16: a type of two bytes, and an
// operation of its own. First the arithmetic alone, by Horovod's function and by Stretto's kernel, in turns.
// Then MPI_Allreduce by the library and by Stretto, in turns.
//
// Run it under the preload. The argument is the library with Horovod's function,
// HOROVOD/tensorflow/mpi_lib.*.so; LD_LIBRARY_PATH must have the folder of libtensorflow_framework.so.2.
// Without an argument the program uses a function of its own, which sums eight at a time by F16C as Horovod's
// does, and registers it with Stretto. That serves MPI libraries that this Horovod was not built for.
#include <dlfcn.h>
#include <immintrin.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/measure/median.hpp"
#include "kernels/reduce.hpp"

namespace {

using Half = std::uint16_t;
using Clock = std::chrono::steady_clock;
constexpr auto horovods_name = "_ZN7horovod6common11float16_sumEPvS1_PiPP15ompi_datatype_t";

MPI_User_function* find_function(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY);
  void* function = handle == nullptr ? nullptr : dlsym(handle, horovods_name);
  if (function == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  return reinterpret_cast<MPI_User_function*>(function);
}

__attribute__((target("avx,f16c"))) void own_sum(void* in, void* inout, int* length, MPI_Datatype* /*type*/) {
  const auto* left = static_cast<const Half*>(in);
  auto* right = static_cast<Half*>(inout);
  int i = 0;
  for (; i + 8 <= *length; i += 8) {
    const __m256 a = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(left + i)));
    const __m256 b = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(right + i)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(right + i),
                     _mm256_cvtps_ph(_mm256_add_ps(a, b), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < *length; ++i) {
    right[i] = _cvtss_sh(_cvtsh_ss(left[i]) + _cvtsh_ss(right[i]), _MM_FROUND_TO_NEAREST_INT);
  }
}

template <typename Work>
double seconds(const Work& work) {
  const auto began = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - began).count();
}

/// The float16 1, whose sums stay exact.
constexpr Half one = 0x3C00;

/// Prints medians of 25 turns, each over about 2 MiB in pieces of `elements`.
void compare_arithmetic(const char* what, MPI_User_function* function, MPI_Datatype type,
                        std::size_t elements) {
  const std::size_t pieces = (std::size_t{1} << 20U) / elements;
  std::vector<Half> left(elements, one);
  std::vector<Half> right(elements, one);
  const auto kernel = stretto::kernels::find(stretto::kernels::Type::f16, stretto::kernels::Op::sum);
  std::vector<double> theirs;
  std::vector<double> ours;
  for (int turn = 0; turn < 25; ++turn) {
    int length = static_cast<int>(elements);
    theirs.push_back(seconds([&] {
      for (std::size_t i = 0; i < pieces; ++i) function(left.data(), right.data(), &length, &type);
    }));
    ours.push_back(seconds([&] {
      for (std::size_t i = 0; i < pieces; ++i) kernel(right.data(), left.data(), right.data(), elements);
    }));
  }
  const double gigabytes = 2e-9 * static_cast<double>(pieces * elements);
  std::printf("arithmetic, %s: function %.2f GB/s, kernel %.2f GB/s, ratio %.1f\n", what,
              gigabytes / stretto::bench::median(theirs), gigabytes / stretto::bench::median(ours),
              stretto::bench::median(theirs) / stretto::bench::median(ours));
}

int force(const char* spec) {
  using Force = int (*)(const char*, const char*, std::size_t);
  const auto function = reinterpret_cast<Force>(dlsym(RTLD_DEFAULT, "stretto_force"));
  return function == nullptr ? MPI_ERR_OTHER : function("allreduce", spec, 1024);
}

/// Registers the operation with Stretto, which knows Horovod's own function without that.
void tell_of(MPI_Op op, MPI_Datatype type) {
  using Know = int (*)(MPI_Op, MPI_Datatype, const char*, const char*);
  const auto know = reinterpret_cast<Know>(dlsym(RTLD_DEFAULT, "stretto_know_operation"));
  if (know != nullptr) know(op, type, "float16", "sum");
}

/// Returns the seconds of one call by the slowest rank.
double call(std::vector<Half>& buffer, MPI_Datatype type, MPI_Op op) {
  std::ranges::fill(buffer, one);
  MPI_Barrier(MPI_COMM_WORLD);
  double mine = seconds([&] {
    MPI_Allreduce(MPI_IN_PLACE, buffer.data(), static_cast<int>(buffer.size()), type, op, MPI_COMM_WORLD);
  });
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

void compare_allreduce(std::size_t bytes, int rank, MPI_Datatype type, MPI_Op op) {
  std::vector<Half> buffer(bytes / 2);
  std::vector<double> native;
  std::vector<double> stretto;
  std::vector<double> ratios;
  for (int round = 0; round < 6; ++round) {
    for (const bool is_native : {true, false}) {
      if (force(is_native ? "native" : "auto") != MPI_SUCCESS) {
        if (rank == 0) std::puts("Stretto is not loaded");
        return;
      }
      const double took = call(buffer, type, op);
      if (round > 0) (is_native ? native : stretto).push_back(took);
    }
    if (round > 0) ratios.push_back(native.back() / stretto.back());
  }
  if (rank == 0) {
    std::printf("MPI_Allreduce in place, %zu MiB: library %.3f s, Stretto %.3f s, speedup %.2f (%.2f-%.2f)\n",
                bytes >> 20U, stretto::bench::median(native), stretto::bench::median(stretto),
                stretto::bench::median(ratios), *std::ranges::min_element(ratios),
                *std::ranges::max_element(ratios));
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 2) {
    std::fputs("float16-sum: give Horovod's library, .../horovod/tensorflow/mpi_lib.*.so, or no argument\n",
               stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_User_function* function = argc == 2 ? find_function(argv[1]) : own_sum;
  MPI_Datatype type{};
  MPI_Type_contiguous(2, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  MPI_Op op{};
  MPI_Op_create(function, 1, &op);
  if (function == own_sum) tell_of(op, type);
  if (rank == 0) {
    // With F16C, Horovod's loop takes eight elements at once and converts the rest bit by bit.
    compare_arithmetic("7 elements (Horovod's loop without F16C)", function, type, 7);
    compare_arithmetic("32 KiB", function, type, std::size_t{1} << 14U);
    compare_arithmetic("2 MiB", function, type, std::size_t{1} << 20U);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (const std::size_t mebibytes : {4UL, 8UL, 16UL}) compare_allreduce(mebibytes << 20U, rank, type, op);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  MPI_Finalize();
}
