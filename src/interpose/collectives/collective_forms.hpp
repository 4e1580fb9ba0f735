// SPDX-License-Identifier: Apache-2.0
// Makes the record of a call from a collective's raw arguments, and passes the call to Stretto or to the MPI
// library's own function. `next` is the function to which calls go on; `rest` are the arguments that a form
// has beyond the blocking one: an info, a request.
#pragma once

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "interpose/collectives/collectives.hpp"
#include "interpose/collectives/native_call.hpp"
#include "interpose/collectives/signatures.hpp"
#include "interpose/observe/live.hpp"
#include "interpose/operations/requests.hpp"
#include "interpose/passing/entry.hpp"
#include "interpose/progress/progress.hpp"
#include "threads/time_slice.hpp"

namespace stretto {

/// Returns the place of the first argument of a type.
template <typename Type, typename Arguments, std::size_t i = 0>
constexpr std::size_t first_of() {
  if constexpr (std::is_same_v<Type, std::tuple_element_t<i, Arguments>>) {
    return i;
  } else {
    return first_of<Type, Arguments, i + 1>();
  }
}

/// Lets the library carry a call out with these buffers (nullptr: the program's own). A function with a
/// single buffer gets the output, or else the input.
template <typename Next, typename... Arguments>
int call_library(const Next& next, const ProgramCall& program_call, const void* input, void* output,
                 Arguments... arguments) {
  std::tuple all(arguments...);
  using First = std::tuple_element_t<0, decltype(all)>;
  if constexpr (std::is_same_v<First, const void*>) {
    constexpr std::size_t received = first_of<void*, decltype(all)>();
    if (input != nullptr) std::get<0>(all) = input;
    if (output != nullptr) std::get<received>(all) = output;
  } else if constexpr (std::is_same_v<First, void*>) {
    if (input != nullptr || output != nullptr)
      std::get<0>(all) = output != nullptr ? output : const_cast<void*>(input);
  }
  const NativeCall native(program_call);
  // The library yields the processor again and again while it waits. With short slices, that would take
  // it from the threads that compute.
  mark_communication_thread(false);
  const int result = std::apply(next, all);
  if (program_call.form == Form::persistent && result == MPI_SUCCESS)
    note_persistent_of_library(program_call.request);
  return result;
}

/// Makes a call, by Stretto or by the library. record() returns its record. This function is not part of the
/// entry, whose first look costs less without the stack that all this needs.
template <typename Next, typename Record, typename... Arguments>
[[gnu::noinline]] int make_call(const Next& next, const Record& record, FirstLook& look,
                                Arguments... arguments) {
  ProgramCall program_call = record();
  program_call.learning = std::move(look.learning);
  if (!look.is_left) {
    if (const std::optional<int> result = carry_out(program_call)) return *result;
  }
  const auto call_with = [&](const void* input, void* output) {
    return call_library(next, program_call, input, output, arguments...);
  };
  if (const std::optional<int> result = prepare_library_call(program_call, call_with)) return *result;
  return call_with(nullptr, nullptr);
}

/// Takes a first look at a call, by the arguments of its blocking form. Most functions have no first look.
template <MpiFunction function, typename... Arguments>
FirstLook first_look(const FormArguments& form_arguments, Arguments... arguments) {
  if constexpr (function == MpiFunction::allreduce) {
    return look_at_allreduce(form_arguments, arguments...);
  } else if constexpr (function == MpiFunction::bcast) {
    return look_at_broadcast(form_arguments, arguments...);
  } else if constexpr (function == MpiFunction::reduce) {
    return look_at_reduce(form_arguments, arguments...);
  } else if constexpr (function == MpiFunction::barrier) {
    return look_at_barrier(form_arguments, arguments...);
  } else {
    return {};
  }
}

// Defines allreduce(next, way, sendbuf, recvbuf, count, datatype, op, comm, rest...) and the like.
// AllreduceNext<Rest...> is the type of `next`. Each is inlined into its entry.
#define STRETTO_FUNCTION(Name, Iname, name, iname, parameters, arguments, record)               \
  template <typename Next, typename Count = int, typename... Rest>                              \
  [[gnu::always_inline]] inline int name(const Next& next, const FormArguments& form_arguments, \
                                         STRETTO_LIST parameters, Rest... rest) {               \
    if (!next.concerns_stretto()) return next(STRETTO_LIST arguments, rest...);                 \
    const LiveCall live(collective_of(MpiFunction::name), form_arguments.form);                 \
    FirstLook look = first_look<MpiFunction::name>(form_arguments, STRETTO_LIST arguments);     \
    if (look.result) return *look.result;                                                       \
    if (look.is_plain) {                                                                        \
      const BlockedScope blocked;                                                               \
      mark_communication_thread(false);                                                         \
      return next(STRETTO_LIST arguments, rest...);                                             \
    }                                                                                           \
    const auto make_record = [&] {                                                              \
      return record_of(MpiFunction::name, form_arguments, comm, STRETTO_LIST record);           \
    };                                                                                          \
    return make_call(next, make_record, look, STRETTO_LIST arguments, rest...);                 \
  }
STRETTO_COLLECTIVES(STRETTO_FUNCTION, Count)
#undef STRETTO_FUNCTION

#define STRETTO_NEXT_TYPE(Name, Iname, name, iname, parameters, arguments, record) \
  template <typename... Rest>                                                      \
  using Name##Next = Next<int(STRETTO_LIST parameters, Rest...)>;
STRETTO_COLLECTIVES(STRETTO_NEXT_TYPE, int)
#undef STRETTO_NEXT_TYPE

}  // namespace stretto
