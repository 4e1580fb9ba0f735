// SPDX-License-Identifier: Apache-2.0
// Interposes functions of MPI, and finds the functions to which their calls go on.
//
// A program's call of MPI_X gets here first. Calls that Stretto leaves alone go on to the next object that
// defines MPI_X, so that other tools in the process (profilers) still see them. PMPI_X is interposed too,
// because Open MPI's Fortran layers and tools that come before Stretto call it. Its calls go on to the MPI
// library. A tool behind Stretto also calls PMPI_X, with a call that Stretto has already handled. Stretto
// lets such a call through.
#pragma once

#include <atomic>
#include <new>
#include <string_view>

#include "interpose/session/session.hpp"
#include "mpi/raw_handle.hpp"

namespace stretto {

/// Returns the next definition of `symbol`, or else of `otherwise`; nullptr if there is none. What comes next
/// may change: a process may load its MPI library at any time.
void* find_next(const char* symbol, const char* otherwise = nullptr);
bool is_of_library(void* function, const char* symbol);
/// Reports that the MPI library lacks a function, and returns the MPI error code for that.
int refuse_missing(const char* symbol);

/// Reports the MPI error code for lack of memory and returns it.
int report_no_memory();
/// Returns work(). No exception of Stretto leaves a function of MPI, because programs in C and Fortran have
/// none. (A function of the program that MPI calls may throw others. They pass.)
template <typename Work>
int without_exceptions(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return report_no_memory();
  }
}

/// Above 0 while this thread is in a function that was passed on to a tool behind Stretto.
inline thread_local int passing_on __attribute__((tls_model("initial-exec"))) = 0;

struct PassingOn {
  PassingOn() { ++passing_on; }
  PassingOn(const PassingOn&) = delete;
  PassingOn& operator=(const PassingOn&) = delete;
  ~PassingOn() { --passing_on; }
};

/// The function to which calls of an interposed function go on.
template <typename Function>
class Next;
template <typename... Arguments>
class Next<int(Arguments...)> {
 public:
  using Function = int(Arguments...);

  explicit Next(const char* symbol, const char* otherwise = nullptr)
      : symbol_(symbol),
        otherwise_(otherwise),
        is_pmpi_(std::string_view(symbol).starts_with('P')),
        function_(reinterpret_cast<Function*>(find_next(symbol, otherwise))) {
    goes_to_tool_ =
        !is_pmpi_ && function_ != nullptr && !is_of_library(reinterpret_cast<void*>(function_), symbol);
  }

  /// Returns the function that gets the calls; nullptr if there is none.
  [[nodiscard]] const void* address() const { return reinterpret_cast<const void*>(function_); }
  /// Whether calls go on to a tool.
  [[nodiscard]] bool goes_to_tool() const { return goes_to_tool_; }
  [[nodiscard]] bool was_handled() const { return is_pmpi_ && passing_on > 0; }
  /// Whether a call is Stretto's concern: Stretto serves this process, MPI is initialized, and Stretto has
  /// not seen the call before. All other calls are passed on unread.
  [[nodiscard]] bool concerns_stretto() const {
    return session.serves_program.load(std::memory_order_acquire) && !was_handled();
  }

  int operator()(Arguments... arguments) const {
    if (function_ == nullptr) return call_what_came(arguments...);
    if (!goes_to_tool_) return function_(arguments...);
    const PassingOn mark;
    return function_(arguments...);
  }

 private:
  /// Looks again for a function that was missing at the first call.
  int call_what_came(Arguments... arguments) const {
    const Next again(symbol_, otherwise_);
    return again.function_ == nullptr ? refuse_missing(symbol_) : again(arguments...);
  }

  const char* symbol_;
  const char* otherwise_;
  bool is_pmpi_;
  Function* function_;
  bool goes_to_tool_ = false;
};

}  // namespace stretto

/// Removes the parentheses around an argument.
#define STRETTO_LIST(...) __VA_ARGS__

// Defines the function that the linker sees as `symbol`. It takes raw handles, so its C++ name differs from
// the one that MPI's header declares. `parameters` are in parentheses. The body may use `next`. The body also
// runs in processes that Stretto does not serve, and before MPI_Init. So most functions are made by
// STRETTO_TAKE_OVER instead.
#define STRETTO_DEFINE(symbol, parameters, ...)                                                     \
  extern "C" int entry_##symbol parameters __asm__(#symbol) __attribute__((visibility("default"))); \
  int entry_##symbol parameters {                                                                   \
    static const Next<int parameters> next(#symbol);                                                \
    return ::stretto::without_exceptions([&]() -> int { __VA_ARGS__ });                             \
  }

/// Define a function of MPI, and its PMPI form. The body only gets calls that are Stretto's concern: this is
/// the one place that decides so. `arguments` are those of the function, in parentheses.
#define STRETTO_SERVE(symbol, parameters, arguments, ...) \
  STRETTO_DEFINE(symbol, parameters, {                    \
    if (!next.concerns_stretto()) return next arguments;  \
    __VA_ARGS__                                           \
  })
#define STRETTO_TAKE_OVER_FUNCTION(function, parameters, arguments, ...) \
  STRETTO_SERVE(function, parameters, arguments, __VA_ARGS__)            \
  STRETTO_SERVE(P##function, parameters, arguments, __VA_ARGS__)
#define STRETTO_TAKE_OVER(name, parameters, arguments, ...) \
  STRETTO_TAKE_OVER_FUNCTION(MPI_##name, parameters, arguments, __VA_ARGS__)
