// SPDX-License-Identifier: Apache-2.0
// From a collective's raw arguments to Stretto or to the library's own function. `next` is where calls go
// on to; `rest` are the arguments that a form has beyond the blocking one: an info, a request.
#pragma once

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/host_memory.hpp"
#include "interpose/collectives/collectives.hpp"
#include "interpose/collectives/library_buffers.hpp"
#include "interpose/collectives/native_call.hpp"
#include "interpose/collectives/signatures.hpp"
#include "interpose/handles/short_types.hpp"
#include "interpose/operations/requests.hpp"
#include "interpose/operations/staged_library_call.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/entry.hpp"
#include "interpose/session/session.hpp"
#include "threads/time_slice.hpp"

namespace stretto {

/// Whether it is a communicator, and no intercommunicator.
inline bool has_one_group(MPI_Comm comm) {
  int has_two = 0;
  return comm != mpi.comm_null && mpi.Comm_test_inter(comm, &has_two) == MPI_SUCCESS && has_two == 0;
}

/// To be called before the library gets a non-blocking or persistent reduction.
inline void note_background_reduction(RawOp op) {
  if (!session.non_blocking) return;
  if (is_program_operation(op) && !is_short_operation(op)) guard_program_functions();
}

inline bool is_predefined_type(RawDatatype datatype) {
  return predefined_size(datatype) != 0;
}
/// Those of MPI_Alltoallw.
inline bool is_predefined_type(const RawDatatypes& /*datatypes*/) {
  return false;
}
template <typename Other>
bool is_predefined_type(const Other& /*argument*/) {
  return true;
}

/// Returns the place of the first argument of a type.
template <typename Type, typename Arguments, std::size_t i = 0>
constexpr std::size_t first_of() {
  if constexpr (std::is_same_v<Type, std::tuple_element_t<i, Arguments>>) {
    return i;
  } else {
    return first_of<Type, Arguments, i + 1>();
  }
}

/// Returns the input and the output of a collective: the first pointers among its arguments. A single one is
/// both; those of a barrier are null.
template <typename Arguments>
std::pair<const void*, const void*> buffers_among(const Arguments& arguments) {
  using First = std::tuple_element_t<0, Arguments>;
  if constexpr (std::is_same_v<First, const void*> || std::is_same_v<First, void*>) {
    return {std::get<0>(arguments), std::get<first_of<void*, Arguments>()>(arguments)};
  } else {
    return {};
  }
}

template <typename Next, typename... Arguments>
int call_library(const Next& next, const Form& form, Arguments... arguments) {
  const NativeCall native(form);
  // The library yields the processor again and again while it waits. With short slices, that would take
  // it from the threads that compute.
  mark_communication_thread(false);
  const int result = next(arguments...);
  if (form.face == Face::persistent && result == MPI_SUCCESS) {
    note_persistent_of_library(form.request);
  }
  return result;
}

/// Calls the library with other buffers. nullptr: the program's. A single one is input or output.
template <typename Next, typename Arguments>
int call_library_with(const Next& next, const Form& form, Arguments arguments, const void* input,
                      void* output) {
  using First = std::tuple_element_t<0, Arguments>;
  if constexpr (std::is_same_v<First, const void*>) {
    constexpr std::size_t received = first_of<void*, Arguments>();
    if (input != nullptr) std::get<0>(arguments) = input;
    if (output != nullptr) std::get<received>(arguments) = output;
  } else if constexpr (std::is_same_v<First, void*>) {
    std::get<0>(arguments) = output != nullptr ? output : const_cast<void*>(input);
  }
  return std::apply([&](auto... changed) { return call_library(next, form, changed...); }, arguments);
}

/// Whether buffers of a call of the library may be in device memory that it does not take. Takes a few
/// nanoseconds for most host memory. The address alone decides: elements are in the memory in which it is
/// (MPI 4.1, section 5.1.12), unless it is MPI_BOTTOM.
template <typename Arguments>
bool may_concern_device(const Arguments& arguments) {
  using First = std::tuple_element_t<0, Arguments>;
  if constexpr (std::is_same_v<First, const void*> || std::is_same_v<First, void*>) {
    const auto is_host = [&](const void* buffer) {
      if (buffer == mpi.in_place || is_surely_host_memory(buffer)) return true;
      return buffer == nullptr &&
             std::apply([](auto... one) { return (is_predefined_type(one) && ...); }, arguments);
    };
    const auto [input, output] = buffers_among(arguments);
    return !(is_host(input) && is_host(output)) && may_need_staging();
  } else {
    return false;
  }
}

/// Returns attempt(form) if that has a result, and otherwise calls the library. buffers() returns what the
/// call touches.
template <typename Next, typename Attempt, typename Buffers, typename... Arguments>
int make_call(const Next& next, Form&& form, const Attempt& attempt, const Buffers& buffers,
              Arguments... arguments) {
  if (!next.concerns_stretto()) return next(arguments...);
  if (const std::optional<int> result = attempt(form)) return *result;
  const std::tuple all(arguments...);
  if constexpr ((std::is_same_v<Arguments, RawOp> || ...)) {
    if (form.face != Face::blocking) note_background_reduction(std::get<RawOp>(all));
  }
  if (may_concern_device(all) && has_one_group(std::get<RawComm>(all))) {
    const auto staged = stage_for_library(
        buffers(), form.face, form.request, std::get<RawComm>(all),
        [&](const void* input, void* output) { return call_library_with(next, form, all, input, output); });
    if (staged) return *staged;
  }
  if (device_stream() != nullptr) {
    const auto [input, output] = buffers_among(all);
    const int error = await_device_stream(input, output, std::get<RawComm>(all));
    if (error != MPI_SUCCESS) return error;
  }
  return call_library(next, form, arguments...);
}

// Defines allreduce(next, form, sendbuf, recvbuf, count, datatype, op, comm, rest...) and the like.
// AllreduceNext<Rest...> is the type of `next`.
#define STRETTO_FUNCTION(Name, Iname, name, iname, collective, parameters, arguments)                       \
  template <typename Next, typename Count = int, typename... Rest>                                          \
  int name(const Next& next, Form&& form, STRETTO_LIST parameters, Rest... rest) {                          \
    return make_call(                                                                                       \
        next, std::move(form), [&](Form& its) { return try_##name(its, STRETTO_LIST arguments); },          \
        [&] { return buffers_of_##name<Count>(STRETTO_LIST arguments); }, STRETTO_LIST arguments, rest...); \
  }
STRETTO_COLLECTIVES(STRETTO_FUNCTION, Count)
#undef STRETTO_FUNCTION

#define STRETTO_NEXT_TYPE(Name, Iname, name, iname, collective, parameters, arguments) \
  template <typename... Rest>                                                          \
  using Name##Next = Next<int(STRETTO_LIST parameters, Rest...)>;
STRETTO_COLLECTIVES(STRETTO_NEXT_TYPE, int)
#undef STRETTO_NEXT_TYPE

}  // namespace stretto
