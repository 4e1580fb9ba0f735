// SPDX-License-Identifier: Apache-2.0
// Makes a face from an mpi.h. A face's source includes this after its own choices; no other source includes
// an mpi.h.
#pragma once

#include "mpi/mpi.hpp"
#include "mpi/status.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

// Open MPI's predefined handles are addresses of its variables. Its macros (MPI_INT, MPI_SUM, …) all expand
// to this one, which is redefined to look up the variable.
#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (static_cast<type>(::stretto::mpi_variable(#global)))
#endif

namespace stretto::faces {
// Each face has its own copy of all this. Inline functions with external linkage could be those of any face.
namespace {

/// Converts a handle of mpi.h to a word, and back.
template <typename Word, typename Handle>
Word to_word(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Word>(handle);
  } else {
    return reinterpret_cast<Word>(std::uintptr_t{static_cast<std::uint32_t>(handle)});
  }
}
template <typename Handle, typename Word>
Handle to_handle(Word word) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(word);
  } else {
    return static_cast<Handle>(reinterpret_cast<std::uintptr_t>(word));
  }
}

/// Whether a handle in memory is a word. If so, pointers to handles and functions that take them need no
/// conversion.
constexpr bool handles_are_words = std::is_pointer_v<::MPI_Comm>;

/// One argument of a call: a `Core` that becomes a `Real`, the type in mpi.h. It lives until the call has
/// returned.
template <typename Real, typename Core>
class Argument {
 public:
  explicit Argument(Core core) : core_(core) {}
  operator Real() const {
    if constexpr (std::is_same_v<Real, Core> || std::is_arithmetic_v<Core>) {
      return core_;
    } else if constexpr (std::is_function_v<std::remove_pointer_t<Core>>) {
      return reinterpret_cast<Real>(reinterpret_cast<void (*)()>(core_));  // as the MPI library calls it
    } else if constexpr (std::is_pointer_v<Real>) {
      return reinterpret_cast<Real>(core_);
    } else {
      return to_handle<Real>(core_);
    }
  }

 private:
  Core core_;
};

/// A handle that the call may change.
template <typename Handle, typename Word>
requires(std::is_integral_v<Handle>&& std::is_pointer_v<Word>) class Argument<Handle*, Word*> {
 public:
  explicit Argument(Word* word)
      : word_(word), handle_(word == nullptr ? Handle{} : to_handle<Handle>(*word)) {}
  Argument(const Argument&) = delete;
  Argument& operator=(const Argument&) = delete;
  ~Argument() {
    if (word_ != nullptr) *word_ = to_word<Word>(handle_);
  }
  operator Handle*() { return word_ == nullptr ? nullptr : &handle_; }

 private:
  Word* word_;
  Handle handle_;
};

/// Names of functions, as types.
namespace named {
#define STRETTO_DECLARE(name, parameters) struct name;
STRETTO_MPI_FUNCTIONS(STRETTO_DECLARE)
STRETTO_MPI_LIST_FUNCTIONS(STRETTO_DECLARE)
STRETTO_MPI_4_FUNCTIONS(STRETTO_DECLARE)
STRETTO_MPI_TOOL_FUNCTIONS(STRETTO_DECLARE)
#undef STRETTO_DECLARE
}  // namespace named

/// Offers a function of mpi.h in the form in which the core calls it. Each function has its own `Name`.
template <typename Name, typename Real, typename Core>
struct Adapted;
template <typename Name, typename... Reals, typename... Cores>
struct Adapted<Name, int (*)(Reals...), int (*)(Cores...)> {
  static inline int (*real)(Reals...) = nullptr;
  static int call(Cores... arguments) { return real(Argument<Reals, Cores>(arguments)...); }

  static auto bind(void* found) -> int (*)(Cores...) {
    if (found == nullptr) return nullptr;
    if constexpr (handles_are_words) return reinterpret_cast<int (*)(Cores...)>(found);
    real = reinterpret_cast<int (*)(Reals...)>(found);
    return &call;
  }
};

#define STRETTO_ADAPTED(name)                                                        \
  ::stretto::faces::Adapted<::stretto::faces::named::name, decltype(&::PMPI_##name), \
                            decltype(::stretto::mpi.name)>

static_assert(sizeof(::MPI_Status) <= OwnStatus::most_bytes);
static_assert(sizeof(::MPI_Aint) == sizeof(MPI_Aint) && sizeof(::MPI_Count) == sizeof(MPI_Count));
static_assert(MPI_MAX_LIBRARY_VERSION_STRING <= longest_text && MPI_MAX_ERROR_STRING <= longest_text &&
              MPI_MAX_PROCESSOR_NAME <= longest_text);

// These bind a function that the MPI library must have, and one that it may lack. For BindFace.
#define STRETTO_BIND(name, parameters)                         \
  mpi.name = STRETTO_ADAPTED(name)::bind(find("PMPI_" #name)); \
  if (mpi.name == nullptr) return "PMPI_" #name;
#define STRETTO_BIND_OPTIONAL(name, parameters) mpi.name = STRETTO_ADAPTED(name)::bind(find("PMPI_" #name));

/// Fills in everything but the functions.
void set_constants(std::optional<Interface> interface) {
  mpi.interface = interface;
  mpi.handle_bytes = sizeof(::MPI_Comm);
  mpi.status_bytes = sizeof(::MPI_Status);
  mpi.source_in_status = offsetof(::MPI_Status, MPI_SOURCE);
  mpi.error_in_status = offsetof(::MPI_Status, MPI_ERROR);
  mpi.in_place = MPI_IN_PLACE;
  mpi.status_ignore = reinterpret_cast<MPI_Status*>(MPI_STATUS_IGNORE);
  mpi.statuses_ignore = reinterpret_cast<MPI_Status*>(MPI_STATUSES_IGNORE);
#define STRETTO_SET(name, NAME) mpi.name = MPI_##NAME;
  STRETTO_MPI_NUMBERS(STRETTO_SET)
#undef STRETTO_SET
#define STRETTO_SET(Handle, name, NAME) mpi.name = to_word<MPI_##Handle>(MPI_##NAME);
  STRETTO_MPI_HANDLES(STRETTO_SET)
#undef STRETTO_SET
#define STRETTO_SET(name, NAME) mpi.name = to_word<MPI_Datatype>(MPI_##NAME);
  STRETTO_MPI_DATATYPES(STRETTO_SET)
#undef STRETTO_SET
#if defined(OMPI_COMM_TYPE_SOCKET) || defined(OPEN_MPI)
  mpi.socket_kind = OMPI_COMM_TYPE_SOCKET;
#elif defined(MPI_COMM_TYPE_HW_GUIDED) || defined(MPI_H_ABI)
  mpi.socket_kind = MPI_COMM_TYPE_HW_GUIDED;
  mpi.has_guided_kinds = true;
#else
  mpi.socket_kind = MPI_UNDEFINED;
#endif
}

}  // namespace
}  // namespace stretto::faces
