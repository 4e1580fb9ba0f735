// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/cases/arguments.hpp"
#include "bench/cases/cases.hpp"
#include "bench/cases/pattern.hpp"
#include "bench/library/library_algorithms.hpp"
#include "bench/measure/buffers.hpp"
#include "mpi/mpi.hpp"

namespace stretto::bench {

/// Returns one line that says why a part of a measurement failed.
std::string failure(const std::string& what, int code);
/// Throws that line as a std::runtime_error.
[[noreturn]] void fail(const std::string& what, int code);

/// A collective on MPI_COMM_WORLD by one spec in one form, as a program would call it. `native` is the MPI
/// library's own call, `auto` is Stretto's in front of it; neither has the cost of reading a spec. Each
/// buffer pair has its own request if the form has any. With an algorithm of the MPI library, `spec` is
/// native(NAME).
class Call {
 public:
  /// Throws std::invalid_argument if the MPI library has no such form. The other functions throw
  /// std::runtime_error if MPI fails, and std::invalid_argument if the MPI library refuses its algorithm.
  Call(const Role& role, const Element& element, std::string spec, Form form, Buffers& buffers,
       const LibraryAlgorithm* algorithm);
  Call(Call&&) = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  Call& operator=(Call&&) = delete;
  ~Call();

  /// The MPI library's algorithm; nullptr: the MPI default. It must be forced while the other functions are
  /// called.
  const LibraryAlgorithm* algorithm() const noexcept { return algorithm_; }

  /// Makes the request of a persistent call, as a program does once before its calls. Starts it once, because
  /// the first start may still set things up.
  void prepare(std::size_t pair);
  /// Starts the call. A blocking call has ended when this returns.
  void start(std::size_t pair);
  /// Returns whether the call has ended.
  bool test(std::size_t pair);
  void wait(std::size_t pair);

 private:
  int make(std::size_t pair);
  template <typename... Given>
  int pass(void* request, Given... arguments) const;
  void check(int code) const;

  Arguments arguments_;
  std::string spec_;
  Form form_;
  Buffers& buffers_;
  const LibraryAlgorithm* algorithm_;
  bool is_native_;
  bool by_name_;  // native or auto
  void* function_;
  int (*start_)(void* request);
  int (*test_)(void* request, int* flag, void* status);
  int (*wait_)(void* request, void* status);
  int (*free_)(void* request);
  std::vector<ProgramHandle<MPI_Request>> requests_;
};

}  // namespace stretto::bench
