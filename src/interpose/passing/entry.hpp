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
#include <climits>
#include <new>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "interpose/session/session.hpp"
#include "mpi/raw_handle.hpp"

namespace stretto {

/// Returns the next definition of `symbol`, or else of `otherwise`; nullptr if there is none.
void* find_next(const char* symbol, const char* otherwise = nullptr);
bool is_of_library(void* function, const char* symbol);
/// Whether the process has an Open MPI without functions for large counts, and no other MPI library, as far
/// as the names of libraries tell. The linker calls this function while it binds symbols, so the function
/// must not make the linker load anything.
bool lacks_large_counts();
/// A function that may be missing for objects that are loaded after the start of the process
/// (late_functions.cpp).
struct LateFunction {
  void* function;
  void* find;  // returns the function, or nullptr
};
/// Reports that the MPI library lacks a function, and returns the MPI error code for that.
int refuse_missing(const char* symbol);
/// Reports to the handler of the communicator that a call has more elements than the library's function
/// takes, and returns the MPI error code for that.
int refuse_count(RawComm comm);

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

template <typename T>
using Narrowed = std::conditional_t<std::is_same_v<T, RawCount>, int,
                                    std::conditional_t<std::is_same_v<T, const RawCount*>, const int*, T>>;

/// The prefix of the names of functions in a job without MPI.
constexpr std::string_view own_prefix = "own:";

/// The function to which calls of an interposed function go on.
template <typename Function>
class Next;
template <typename... Arguments>
class Next<int(Arguments...)> {
 public:
  using Function = int(Arguments...);
  using NarrowedFunction = int(Narrowed<Arguments>...);

  Next(const char* symbol, const char* otherwise, const char* narrowed)
      : symbol_(symbol),
        is_pmpi_(std::string_view(symbol).starts_with('P')),
        serves_(std::string_view(symbol).starts_with(own_prefix) ? &session.active : &session.serves_program),
        function_(reinterpret_cast<Function*>(find_next(symbol, otherwise))) {
    const bool is_missing = function_ == nullptr;
    goes_to_tool_ = !is_pmpi_ && !is_missing && !is_of_library(reinterpret_cast<void*>(function_), symbol);
    if (has_comm && is_missing && narrowed != nullptr) {
      narrowed_ = reinterpret_cast<NarrowedFunction*>(find_next(narrowed));
    }
  }

  [[nodiscard]] bool is_missing() const { return function_ == nullptr && narrowed_ == nullptr; }
  /// Returns the function that gets the calls; nullptr if there is none.
  [[nodiscard]] const void* address() const { return reinterpret_cast<const void*>(function_); }
  /// Whether calls go on to a tool.
  [[nodiscard]] bool goes_to_tool() const { return goes_to_tool_; }
  [[nodiscard]] bool was_handled() const { return is_pmpi_ && passing_on > 0; }
  /// Whether a call is Stretto's concern: Stretto serves this process, MPI is initialized, and Stretto has
  /// not seen the call before. All other calls are passed on unread.
  [[nodiscard]] bool concerns_stretto() const {
    return serves_->load(std::memory_order_acquire) && !was_handled();
  }

  int operator()(Arguments... arguments) const {
    if constexpr (has_comm) {
      if (narrowed_ != nullptr) return call_narrowed(arguments...);
    }
    if (function_ == nullptr) return refuse_missing(symbol_);
    if (!goes_to_tool_) return function_(arguments...);
    const PassingOn mark;
    return function_(arguments...);
  }

 private:
  /// Every function with counts that Stretto takes over has a communicator.
  static constexpr bool has_comm = (std::is_same_v<Arguments, RawComm> || ...);

  /// Serves large-count forms that the library lacks (MPICH 3) by the forms with int. A program that checks
  /// at run time which functions exist (mpi4py's wheel) finds Stretto's.
  int call_narrowed(Arguments... arguments) const {
    if (!(fits(arguments) && ...)) return refuse_count(std::get<RawComm>(std::tuple(arguments...)));
    return narrowed_(narrow(arguments)...);
  }
  template <typename T>
  static bool fits(T argument) {
    if constexpr (std::is_same_v<T, RawCount>) return argument <= INT_MAX;
    return !std::is_same_v<T, const RawCount*>;
  }
  template <typename T>
  static Narrowed<T> narrow(T argument) {
    if constexpr (std::is_same_v<T, RawCount>) {
      // Negative counts are an error whatever their value. The library reports it.
      return argument < 0 ? -1 : static_cast<int>(argument);
    } else if constexpr (std::is_same_v<T, const RawCount*>) {
      return nullptr;  // they do not fit
    } else {
      return argument;
    }
  }

  const char* symbol_;
  bool is_pmpi_;
  const std::atomic<bool>* serves_;
  Function* function_;
  bool goes_to_tool_ = false;
  NarrowedFunction* narrowed_ = nullptr;
};

}  // namespace stretto

/// Removes the parentheses around an argument.
#define STRETTO_LIST(...) __VA_ARGS__

// Defines the function that the linker sees as `symbol`. It takes raw handles, so its C++ name differs from
// the one that MPI's header declares. `parameters` are in parentheses. The body may use `next`. The body also
// runs in processes that Stretto does not serve, and before MPI_Init. So most functions are made by
// STRETTO_TAKE_OVER instead.
#define STRETTO_DEFINE(symbol, otherwise, narrowed, parameters, ...)                                \
  extern "C" int entry_##symbol parameters __asm__(#symbol) __attribute__((visibility("default"))); \
  int entry_##symbol parameters {                                                                   \
    static const Next<int parameters> next(#symbol, otherwise, narrowed);                           \
    return ::stretto::without_exceptions([&]() -> int { __VA_ARGS__ });                             \
  }

// Defines a function with large counts likewise. Open MPI 4 and 5 lack these functions. A library that is
// opened late may refer to one weakly, to see whether it exists (mpi4py's wheel does). It must then not find
// Stretto's.
#define STRETTO_DEFINE_c(symbol, otherwise, narrowed, parameters, ...)                                \
  STRETTO_DEFINE(symbol, otherwise, narrowed, parameters, __VA_ARGS__)                                \
  static int(*late_##symbol()) parameters {                                                           \
    return ::stretto::lacks_large_counts() ? nullptr : &entry_##symbol;                               \
  }                                                                                                   \
  __attribute__((section("stretto_late"), used)) static ::stretto::LateFunction late_record_##symbol{ \
      reinterpret_cast<void*>(&entry_##symbol), reinterpret_cast<void*>(&late_##symbol)};

/// Define a function of MPI, and its PMPI form. The body only gets calls that are Stretto's concern: this is
/// the one place that decides so. `arguments` are those of the function, in parentheses.
#define STRETTO_SERVE(kind, symbol, parameters, arguments, ...) \
  STRETTO_DEFINE##kind(symbol, nullptr, nullptr, parameters, {  \
    if (!next.concerns_stretto()) return next arguments;        \
    __VA_ARGS__                                                 \
  })
#define STRETTO_TAKE_OVER_FUNCTION(kind, function, parameters, arguments, ...) \
  STRETTO_SERVE(kind, function, parameters, arguments, __VA_ARGS__)            \
  STRETTO_SERVE(kind, P##function, parameters, arguments, __VA_ARGS__)
#define STRETTO_TAKE_OVER(name, parameters, arguments, ...) \
  STRETTO_TAKE_OVER_FUNCTION(, MPI_##name, parameters, arguments, __VA_ARGS__)
