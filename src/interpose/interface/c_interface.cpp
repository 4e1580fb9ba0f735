// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>

#include "engine/device/device_stream.hpp"
#include "interpose/collectives/collective_forms.hpp"
#include "interpose/dispatch/choice.hpp"
#include "interpose/dispatch/online.hpp"
#include "interpose/handles/known_operation.hpp"
#include "interpose/observe/statistics.hpp"
#include "mpi/mpi.hpp"

// The functions of include/stretto/stretto.h, which includes the mpi.h of the program: handles are raw here.
#define STRETTO_VISIBLE extern "C" __attribute__((visibility("default")))

using namespace stretto;

namespace {

/// Carries out a function that the program may call before MPI_Init. Loads the MPI library's constants then,
/// because the function returns one of its error codes.
template <typename Work>
int answer(const Work& work) {
  return without_exceptions([&]() -> int {
    if (!session.serves_program) load_mpi();
    return work();
  });
}

/// Makes a call, make_call(way), by a spec that is given as text.
template <typename MakeCall>
int by_spec(MpiFunction function, const char* text, MPI_Comm comm, FormArguments form_arguments,
            const MakeCall& make_call) {
  return answer([&]() -> int {
    if (text == nullptr || std::strcmp(text, "auto") == 0) return make_call(form_arguments);
    std::optional<Spec> spec;
    try {
      spec = parse_spec(collective_of(function), text);
    } catch (const SpecError& error) {
      complain_once_on_rank_0(error.what());
      if (session.serves_program) mpi.Comm_call_errhandler(comm, mpi.err_arg);
      return mpi.err_arg;
    }
    form_arguments.forced = &*spec;
    return make_call(form_arguments);
  });
}

/// Writes as much of a text as fits, with a terminating zero.
void write_text(const std::string& text, char* into, std::size_t length) {
  if (into == nullptr || length == 0) return;
  const std::size_t fitting = std::min(text.size(), length - 1);
  std::memcpy(into, text.data(), fitting);
  into[fitting] = '\0';
}

}  // namespace

// One collective in its three forms.
#define STRETTO_INTERFACE(Name, Iname, name, iname, parameters, arguments, record)                     \
  STRETTO_VISIBLE int stretto_##name(STRETTO_LIST parameters, const char* spec) {                      \
    static const Name##Next<> next("MPI_" #Name);                                                      \
    return by_spec(MpiFunction::name, spec, comm, {}, [&](const FormArguments& form_arguments) {       \
      return name(next, form_arguments, STRETTO_LIST arguments);                                       \
    });                                                                                                \
  }                                                                                                    \
  STRETTO_VISIBLE int stretto_##iname(STRETTO_LIST parameters, const char* spec, void* request) {      \
    static const Name##Next<void*> next("MPI_" #Iname);                                                \
    return by_spec(MpiFunction::name, spec, comm, {.form = Form::non_blocking, .request = request},    \
                   [&](const FormArguments& form_arguments) {                                          \
                     return name(next, form_arguments, STRETTO_LIST arguments, request);               \
                   });                                                                                 \
  }                                                                                                    \
  STRETTO_VISIBLE int stretto_##name##_init(STRETTO_LIST parameters, RawHandle info, const char* spec, \
                                            void* request) {                                           \
    static const Name##Next<RawHandle, void*> next("MPI_" #Name "_init", "MPIX_" #Name "_init");       \
    return by_spec(MpiFunction::name, spec, comm, {.form = Form::persistent, .request = request},      \
                   [&](const FormArguments& form_arguments) {                                          \
                     return name(next, form_arguments, STRETTO_LIST arguments, info, request);         \
                   });                                                                                 \
  }
STRETTO_COLLECTIVES(STRETTO_INTERFACE, int)

STRETTO_VISIBLE const char* stretto_version(void) {
  return STRETTO_VERSION;
}

STRETTO_VISIBLE const char* stretto_interfaces(void) {
  return interfaces_of_build();
}

STRETTO_VISIBLE int stretto_parse_spec(const char* collective, const char* spec, char* text, int length) {
  return answer([&]() -> int {
    const auto known = find_collective(collective == nullptr ? "" : collective);
    if (!known || spec == nullptr || length < 0) return mpi.err_arg;
    if (std::strcmp(spec, "auto") == 0) {
      write_text(spec, text, static_cast<std::size_t>(length));
      return MPI_SUCCESS;
    }
    try {
      write_text(to_string(parse_spec(*known, spec)), text, static_cast<std::size_t>(length));
      return MPI_SUCCESS;
    } catch (const SpecError& error) {
      write_text(error.what(), text, static_cast<std::size_t>(length));
      return mpi.err_arg;
    }
  });
}

STRETTO_VISIBLE int stretto_choice(const char* collective, RawComm comm, size_t bytes, char* spec,
                                   int length) {
  return answer([&]() -> int {
    const auto known = find_call(collective == nullptr ? "" : collective);
    if (!known || spec == nullptr || length < 1) return mpi.err_arg;
    std::string chosen = to_string(Spec{});
    std::shared_ptr<Communicator> state;
    if (session.serves_program && find_communicator(comm, state) == MPI_SUCCESS && state != nullptr &&
        !state->native_only()) {
      if (state->is_young()) state->look_around();
      const CallTraits traits{.collective = known->collective, .bytes = bytes};
      const Choice choice = decide(*state, traits, known->form, std::nullopt);
      chosen = to_string(choice);
      if (known->form == Form::blocking) {
        const std::optional<Spec> learnt = find_in_force(*state, traits, choice);
        if (learnt && learnt != choice.spec) chosen = to_string(*learnt);
      }
    }
    write_text(chosen, spec, static_cast<std::size_t>(length));
    return MPI_SUCCESS;
  });
}

STRETTO_VISIBLE int stretto_force(const char* collective, const char* spec, size_t least_bytes) {
  return answer([&]() -> int {
    const auto known = find_collective(collective == nullptr ? "" : collective);
    if (!known || spec == nullptr) return mpi.err_arg;
    if (!session.serves_program) return mpi.err_other;
    try {
      std::optional<Spec> forced;
      if (std::strcmp(spec, "auto") != 0) forced = parse_spec(*known, spec);
      session.force(*known, {std::move(forced), least_bytes});
      return MPI_SUCCESS;
    } catch (const SpecError& error) {
      complain_once_on_rank_0(error.what());
      return mpi.err_arg;
    }
  });
}

STRETTO_VISIBLE int stretto_know_operation(RawOp op, RawDatatype datatype, const char* type,
                                           const char* operation) {
  return answer([&]() -> int {
    if (type == nullptr || operation == nullptr) return mpi.err_arg;
    const kernels::Function kernel = find_short_kernel(type, operation);
    if (kernel == nullptr) return mpi.err_arg;
    if (!session.serves_program) return mpi.err_other;
    const std::optional<Element> element = find_element(datatype, op);
    if (!element || !is_program_operation(op) || element->size != 2 || !element->contiguous()) {
      return mpi.err_arg;
    }
    know_operation(op, datatype, kernel);
    return MPI_SUCCESS;
  });
}

STRETTO_VISIBLE void* stretto_set_device_stream(void* stream) {
  return set_device_stream(stream);
}

STRETTO_VISIBLE size_t stretto_statistics(char* json, size_t length) {
  if (!session.serves_program || session.settings.statistics_file.empty()) return 0;
  try {
    const std::string text = statistics_text();
    write_text(text, json, length);
    return text.size();
  } catch (const std::bad_alloc&) {
    return 0;
  }
}
