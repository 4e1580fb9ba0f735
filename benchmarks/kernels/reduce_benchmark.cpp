// SPDX-License-Identifier: Apache-2.0

// Compares our reduction kernels with plain loops and with MPI_Reduce_local of the MPI library that this
// program is linked to, on one core.
//
// MPI_Reduce_local has two operands (inout = in op inout), so all write the result over the right operand.
// `stretto_third_buffer` measures the other form, which only our kernels and loops have.
//
// Counters: bytes_per_second counts three streams, two read and one written. `memcpy_percent` is the time of
// a memcpy of as many bytes over the time of the kernel; both take turns. From memory, a copy moves the same
// three streams (read, fetch of the line to be written, write back). So the copy is the bound, and 100 means
// as fast as memory allows. In L1 and L2 the arithmetic has three accesses to the copy's two, so there it is
// only a yardstick.
//
// For medians: --benchmark_repetitions=9 --benchmark_report_aggregates_only=true --benchmark_min_time=0.05

#include <benchmark/benchmark.h>
#include <mpi.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>

#include "kernels/reduce.hpp"
#include "plain_loop.hpp"

namespace stretto::benchmarks {
namespace {

using kernels::Op;
using kernels::Type;
__extension__ using ComplexFloat = _Complex float;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Block = std::unique_ptr<void, Free>;

Block make_block(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  Block block(std::aligned_alloc(page, (bytes + page - 1) / page * page));
  std::memset(block.get(), 0, bytes);
  return block;
}

// Returns the processor time of this thread. Nothing here waits, and other programs on the core do not count.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class F>
double seconds(F&& work, std::size_t calls) {
  const double start = processor_seconds();
  for (std::size_t call = 0; call < calls; ++call) {
    work();
    benchmark::ClobberMemory();
  }
  return processor_seconds() - start;
}

enum class Result { over_right, third_buffer };

// Measures reduce(into, left, right) on `bytes` bytes.
template <class Reduce>
void measure(benchmark::State& state, Result result, const Reduce& reduce) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const Block left = make_block(bytes), right = make_block(bytes), third = make_block(bytes);
  void* const into = result == Result::over_right ? right.get() : third.get();
  // Long enough that reading the clock does not count; short enough that other programs disturb both alike.
  const std::size_t calls = std::max<std::size_t>(1, (std::size_t{1} << 20) / bytes);
  double kernel_seconds = 0;
  double copy_seconds = 0;
  for (auto _ : state) {
    const double once = seconds([&] { reduce(into, left.get(), right.get()); }, calls);
    state.SetIterationTime(once);
    kernel_seconds += once;
    copy_seconds += seconds([&] { std::memcpy(third.get(), left.get(), bytes); }, calls);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(3 * bytes * calls) * state.iterations());
  state.counters["memcpy_percent"] = 100 * copy_seconds / kernel_seconds;
}

void measure_function(benchmark::State& state, Result result, kernels::Function function,
                      std::size_t element) {
  const std::size_t count = static_cast<std::size_t>(state.range(0)) / element;
  measure(state, result,
          [=](void* into, const void* left, const void* right) { function(into, left, right, count); });
}

void add(const std::string& name, const std::string& who, auto&& run) {
  benchmark::RegisterBenchmark((name + "/" + who).c_str(), run)
      ->UseManualTime()
      ->Arg(1 << 10)
      ->Arg(32 << 10)
      ->Arg(1 << 20)
      ->Arg(64 << 20);
}

template <class T, Op op>
void add_all(const std::string& name, Type type, MPI_Datatype mpi_type, MPI_Op mpi_op) {
  const auto add_function = [&](const std::string& who, Result result, kernels::Function function) {
    add(name, who, [=](benchmark::State& state) { measure_function(state, result, function, sizeof(T)); });
  };
  add_function("stretto", Result::over_right, kernels::find(type, op));
  add_function("stretto_third_buffer", Result::third_buffer, kernels::find(type, op));
  add_function("loop_O2", Result::over_right, loop_o2<T, op>);
  if (const auto native = loop_native<T, op>()) add_function("loop_O3_native", Result::over_right, native);
  add(name, "MPI_Reduce_local", [=](benchmark::State& state) {
    const int count = static_cast<int>(static_cast<std::size_t>(state.range(0)) / sizeof(T));
    measure(state, Result::over_right, [=](void* into, const void* left, const void*) {
      MPI_Reduce_local(left, into, count, mpi_type, mpi_op);
    });
  });
}

void add_everything() {
  add_all<float, Op::sum>("float/sum", Type::f32, MPI_FLOAT, MPI_SUM);
  add_all<float, Op::max>("float/max", Type::f32, MPI_FLOAT, MPI_MAX);
  add_all<double, Op::sum>("double/sum", Type::f64, MPI_DOUBLE, MPI_SUM);
  add_all<double, Op::max>("double/max", Type::f64, MPI_DOUBLE, MPI_MAX);
  add_all<std::int8_t, Op::sum>("int8/sum", Type::i8, MPI_INT8_T, MPI_SUM);
  add_all<std::int8_t, Op::max>("int8/max", Type::i8, MPI_INT8_T, MPI_MAX);
  add_all<std::int8_t, Op::band>("int8/band", Type::i8, MPI_INT8_T, MPI_BAND);
  add_all<ComplexFloat, Op::sum>("complex_float/sum", Type::c32, MPI_C_FLOAT_COMPLEX, MPI_SUM);
  add_all<ComplexFloat, Op::prod>("complex_float/prod", Type::c32, MPI_C_FLOAT_COMPLEX, MPI_PROD);
}

}  // namespace
}  // namespace stretto::benchmarks

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(library, &length);
  benchmark::AddCustomContext("mpi", std::string(library, static_cast<std::size_t>(length)));
  stretto::benchmarks::add_everything();
  benchmark::Initialize(&argc, argv);
  const bool unknown_arguments = benchmark::ReportUnrecognizedArguments(argc, argv);
  if (!unknown_arguments) benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  MPI_Finalize();
  return unknown_arguments ? 1 : 0;
}
