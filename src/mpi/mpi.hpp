// SPDX-License-Identifier: Apache-2.0
// MPI as the core sees it: no mpi.h is included, and no symbol of an MPI library is linked.
//
// The preload is loaded into every process that a launcher starts, including shells and interpreters, and
// before an interpreter opens its MPI library (mpi4py does so privately, where the linker does not look).
// So functions and predefined handles cannot be references that the loader resolves. They are looked up
// once, in the library that the process has. The program's calls, which go through other PMPI tools, are
// passed on by interpose/passing/entry.hpp; the core's own traffic is PMPI.
#pragma once

#include <array>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "mpi/constants.hpp"
#include "mpi/functions.hpp"
#include "mpi/handles.hpp"
#include "text/mpi_interface.hpp"

namespace stretto {

/// Returns the address of a symbol of the MPI library that load_mpi() found; nullptr if it has none of that
/// name.
void* mpi_symbol(const char* name);

/// Returns the address of a symbol of any MPI library of the process, whatever its binary interface; nullptr
/// if there is none.
void* any_mpi_symbol(const char* name);

/// Returns the address of a variable of the MPI library. The program may hold it: the linker moves
/// variables that a program refers to into the program (copy relocation), and the library's own copy is
/// then unused.
void* mpi_variable(const char* name);

/// Takes the place of a function of MPI until load_mpi() has found it. In a process without MPI that never
/// happens.
template <typename Function>
struct NotLoaded;
template <typename... Parameters>
struct NotLoaded<int (*)(Parameters...)> {
  [[noreturn]] static int call(Parameters... /*arguments*/) {
    std::fputs("stretto: an MPI function was called before Stretto found the MPI library\n", stderr);
    std::abort();
  }
};

/// A predefined handle, once load_mpi() has found it. Debug builds stop at an earlier use.
template <typename Handle>
class LoadedHandle {
 public:
  LoadedHandle& operator=(Handle handle) {
    handle_ = handle;
    is_loaded_ = true;
    return *this;
  }
  operator Handle() const {
    assert(is_loaded_);
    return handle_;
  }

 private:
  Handle handle_{};
  bool is_loaded_ = false;
};

class Endpoint;

/// The differences between binary interfaces, except for the values of constants.
struct InterfaceTraits {
  std::optional<Interface> interface;  // nothing: that of a simulation, or none is known yet
  /// The size of a handle in memory. All handles of an interface have the same size.
  std::size_t handle_bytes = sizeof(void*);
  std::size_t status_bytes = 0;
  std::size_t source_in_status = 0;  // the place of MPI_SOURCE, in bytes
  std::size_t error_in_status = 0;
  const void* in_place = nullptr;
  MPI_Status* status_ignore = nullptr;
  MPI_Status* statuses_ignore = nullptr;
  /// The kind of MPI_Comm_split_type whose parts are sockets, or MPI_UNDEFINED; with an info, if it is a
  /// guided one.
  int socket_kind = 0;
  bool has_guided_kinds = false;
  /// Whether a handle may be a communicator, as far as its value tells. For some other values, a library
  /// stops the program.
  bool (*may_be_communicator)(MPI_Comm) = nullptr;
  /// Whether a handle may be an operation or a datatype that the program has made, likewise.
  bool (*may_be_user_op)(MPI_Op) = nullptr;
  bool (*may_be_user_datatype)(MPI_Datatype) = nullptr;
  // The functions of a job without MPI (mpi/own_network.hpp); otherwise nullptr.
  /// Returns the error code with which collective call number `call` of a communicator fails, or MPI_SUCCESS.
  /// A call that has not begun also fails if any rank of the communicator has ended.
  int (*why_ended)(MPI_Comm, std::uint64_t call, bool has_begun) = nullptr;
  /// Ends this rank's part in a communicator: in its messages, and in its collective calls from number `from`
  /// on. These fail, and the other ranks hear the reason, which is one line.
  void (*end_in)(MPI_Comm, std::uint64_t from, const char* reason) = nullptr;
  /// Notes that the process of a rank has ended, or only that it has given up a call. Returns the error code
  /// of calls that need it.
  int (*note_ended)(int rank, bool gave_up_call) = nullptr;
  /// Whether any rank has ended or given up a call; listen() tells others of it, and hears of more.
  bool (*has_news)() = nullptr;
  void (*listen)() = nullptr;
  /// Until spare(), does what end_in() does as soon as a member of the communicator has ended, or after
  /// `seconds`. mpi.comm_world stands for everything, and only the time counts.
  void (*limit)(MPI_Comm, double seconds, const char* reason) = nullptr;
  void (*spare)(MPI_Comm) = nullptr;
  /// Returns a number that changes whenever bytes of a message in flight have moved.
  std::uint64_t (*steps)(MPI_Request) = nullptr;
  /// Returns the endpoint of the job, and the context of a communicator's messages there.
  Endpoint& (*endpoint)() = nullptr;
  std::uint64_t (*context_of)(MPI_Comm) = nullptr;
  /// Returns the error code that stands for a reason, which must stay valid.
  int (*code_of)(const char* reason) = nullptr;
  /// Error codes from here on stand for a reason, which MPI_Error_string() returns.
  static constexpr int first_reason = 1000;

  /// Whether there is a library to which the program's collectives can be left.
  [[nodiscard]] bool has_library() const { return endpoint == nullptr; }
  /// Whether an error is the end of a rank's part, so that no other call of its communicator is possible.
  [[nodiscard]] bool is_end(int error) const { return !has_library() && error >= first_reason; }
};

/// The functions and constants of the MPI library in this process.
struct MpiLibrary : InterfaceTraits {
#define STRETTO_DECLARE(name, NAME) int name = 1;  // an error, until the library is known
  STRETTO_MPI_NUMBERS(STRETTO_DECLARE)
#undef STRETTO_DECLARE
#define STRETTO_DECLARE(name, parameters) int(*name) parameters = &NotLoaded<int(*) parameters>::call;
  STRETTO_MPI_FUNCTIONS(STRETTO_DECLARE)
  STRETTO_MPI_LIST_FUNCTIONS(STRETTO_DECLARE)
#undef STRETTO_DECLARE
#define STRETTO_DECLARE(name, parameters) int(*name) parameters = nullptr;
  STRETTO_MPI_4_FUNCTIONS(STRETTO_DECLARE)
  STRETTO_MPI_TOOL_FUNCTIONS(STRETTO_DECLARE)
#undef STRETTO_DECLARE
#define STRETTO_DECLARE(Handle, name, NAME) LoadedHandle<MPI_##Handle> name;
  STRETTO_MPI_HANDLES(STRETTO_DECLARE)
#undef STRETTO_DECLARE
#define STRETTO_DECLARE(name, NAME) LoadedHandle<MPI_Datatype> name;
  STRETTO_MPI_DATATYPES(STRETTO_DECLARE)
#undef STRETTO_DECLARE

  [[nodiscard]] bool is(Interface one) const {
    return interface == one;
  }
};

extern MpiLibrary mpi;

/// The longest text that MPI writes in any interface, with the terminating zero.
constexpr std::size_t longest_text = 8192;
using MpiText = std::array<char, longest_text>;

/// Converts a register to a handle, and back.
template <typename Handle>
Handle from_raw(RawHandle raw) {
  return reinterpret_cast<Handle>(mpi.handle_bytes == sizeof(std::uint32_t) ? static_cast<std::uint32_t>(raw)
                                                                            : raw);
}
template <typename Handle>
RawHandle to_raw(Handle handle) {
  return reinterpret_cast<RawHandle>(handle);
}

/// Finds the MPI library of this process and fills in `mpi`. Returns one line with the reason if it cannot,
/// or an empty one. To be called when the program first enters MPI, since an interpreter may load its MPI
/// library late. If the program calls a function of the library before MPI is initialized, `function` is that
/// function: a process may have several libraries.
std::string load_mpi(const void* function = nullptr);

/// Whether load_mpi() was ever called. The first MPI call that reaches Stretto calls it.
bool was_library_looked_for();

/// Returns the path of the MPI library that the program has initialized although no call has reached Stretto;
/// an empty text if there is none.
std::string find_passed_by();

/// The function that connects the core with one interface (src/faces). It fills in `mpi`, and finds the
/// functions for that by find("PMPI_Isend") and the like. Returns the name of a function that the library
/// lacks; nullptr if it lacks none.
using BindFace = const char* (*)(void* (*find)(const char* symbol));

/// Returns the function for an interface; nullptr if Stretto was built without it.
BindFace face_of(Interface interface);
/// Returns the names of the interfaces for which Stretto was built, each with a space after it.
const char* interfaces_of_build();

}  // namespace stretto
