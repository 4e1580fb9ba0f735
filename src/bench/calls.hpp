// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "buffers.hpp"
#include "cases.hpp"
#include "pattern.hpp"

namespace stretto::bench {

/// Throws std::runtime_error that says what of a measurement failed, and why.
[[noreturn]] void fail(const std::string& what, int code);

/// A collective on MPI_COMM_WORLD by one spec in one form, as a program would call it: by `native` the
/// library's own, by `auto` the one in front of it, both without the work of reading a spec. Each buffer pair
/// has a request of its own, where the form has any.
class Call {
 public:
  /// Throws std::invalid_argument if the library has no such form.
  Call(const Role& role, Element element, std::string spec, Form form, Buffers& buffers);
  Call(Call&&) = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  Call& operator=(Call&&) = delete;
  ~Call();

  /// What a program does once, before its calls: makes the request of a persistent one. It is used once,
  /// since the first start may still set things up.
  void prepare(std::size_t pair);
  /// A blocking call has ended after this.
  void start(std::size_t pair);
  /// Whether it has ended.
  bool test(std::size_t pair);
  void wait(std::size_t pair);

 private:
  int make(std::size_t pair);
  template <typename... Arguments>
  int pass(MPI_Request* request, Arguments... arguments) const;
  void check(int code) const;

  Role role_;
  Element element_;
  std::string spec_;
  Form form_;
  Buffers& buffers_;
  bool by_name_;  // native or auto
  void* function_;
  decltype(&MPI_Start) start_;
  decltype(&MPI_Test) test_;
  decltype(&MPI_Wait) wait_;
  decltype(&MPI_Request_free) free_;
  std::vector<int> block_counts_;
  std::vector<int> block_begins_;
  std::vector<MPI_Request> requests_;
};

}  // namespace stretto::bench
