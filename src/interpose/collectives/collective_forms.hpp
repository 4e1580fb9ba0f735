// SPDX-License-Identifier: Apache-2.0
// From a collective's raw arguments to Stretto or to the library's own function. `next` is where calls go
// on to; `rest` are the arguments that a form has beyond the blocking one: an info, a request.
#pragma once

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "interpose/collectives/collectives.hpp"
#include "interpose/collectives/native_call.hpp"
#include "interpose/collectives/signatures.hpp"
#include "interpose/handles/short_types.hpp"
#include "interpose/operations/requests.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/entry.hpp"
#include "interpose/session/session.hpp"
#include "threads/time_slice.hpp"

namespace stretto {

template <typename Next>
bool may_handle(const Next& next) {
  return session.active.load(std::memory_order_acquire) && !next.was_handled();
}

inline int refuse_count(MPI_Comm comm) {
  mpi.Comm_call_errhandler(comm, MPI_ERR_COUNT);
  return MPI_ERR_COUNT;
}

/// To be called before the library gets a non-blocking or persistent reduction.
inline void note_background_reduction(RawOp op) {
  if (!session.active || !session.non_blocking) return;
  if (is_program_operation(op) && !is_short_operation(op)) guard_program_functions();
}

template <typename Next, typename... Arguments>
int call_library(const Next& next, const Form& form, Arguments... arguments) {
  const NativeCall native(form);
  // The library yields the processor again and again while it waits. With short slices, that would take
  // it from the threads that compute.
  mark_communication_thread(false);
  const int result = next(arguments...);
  if (form.face == Face::persistent && result == MPI_SUCCESS && session.active) {
    note_persistent_of_library(*form.request);
  }
  return result;
}

/// Returns attempt(form) if that has a result, and otherwise calls the library.
template <typename Next, typename Attempt, typename... Arguments>
int make_call(const Next& next, Form form, const Attempt& attempt, Arguments... arguments) {
  if (may_handle(next)) {
    if (const std::optional<int> result = attempt(form)) return *result;
  }
  const std::tuple all(arguments...);
  if (!(next.takes(arguments) && ...)) return refuse_count(std::get<RawComm>(all));
  if constexpr ((std::is_same_v<Arguments, RawOp> || ...)) {
    if (form.face != Face::blocking) note_background_reduction(std::get<RawOp>(all));
  }
  return call_library(next, form, arguments...);
}

// Defines allreduce(next, form, sendbuf, recvbuf, count, datatype, op, comm, rest...) and the like.
// AllreduceNext<Rest...> is the type of `next`.
#define STRETTO_FUNCTION(Name, Iname, name, iname, collective, parameters, arguments)              \
  template <typename Next, typename Count = int, typename... Rest>                                 \
  int name(const Next& next, Form form, STRETTO_LIST parameters, Rest... rest) {                   \
    return make_call(                                                                              \
        next, std::move(form), [&](Form& its) { return try_##name(its, STRETTO_LIST arguments); }, \
        STRETTO_LIST arguments, rest...);                                                          \
  }
STRETTO_RAW_COLLECTIVES(STRETTO_FUNCTION, Count)
#undef STRETTO_FUNCTION

#define STRETTO_NEXT_TYPE(Name, Iname, name, iname, collective, parameters, arguments) \
  template <typename... Rest>                                                          \
  using Name##Next = Next<int(STRETTO_LIST parameters, Rest...)>;
STRETTO_RAW_COLLECTIVES(STRETTO_NEXT_TYPE, int)
#undef STRETTO_NEXT_TYPE

}  // namespace stretto
