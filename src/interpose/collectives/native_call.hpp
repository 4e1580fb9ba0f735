// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/device/device_stream.hpp"
#include "interpose/collectives/library_buffers.hpp"
#include "interpose/dispatch/program_call.hpp"
#include "interpose/observe/trace.hpp"
#include "interpose/observe/watchdog.hpp"
#include "interpose/progress/progress.hpp"

namespace stretto {

/// Reports a call that the MPI library carries out to the observers. For a non-blocking or persistent call it
/// covers the start only.
class ObservedCall final : public Watched {
 public:
  ObservedCall(const LibraryCall& call, Form form);
  ~ObservedCall() override;
  bool try_describe(std::string& text) override;
  [[nodiscard]] const Communicator& communicator() const override { return *call_.state; }
  [[nodiscard]] std::uint64_t number() const override { return call_.sequence; }

 private:
  const LibraryCall& call_;
  double began_;
  std::unique_ptr<TracedCall> trace_;
};

/// Waits until the device has done the work in the stream that the program has named (device_stream()),
/// because the library does not know that stream. To be called before the library gets buffers of the
/// program. If it cannot wait, returns an error, already reported to the handler of `comm`. The call must not
/// be made then.
int await_device_stream(const void* input, const void* output, MPI_Comm comm);

/// Whether it is a communicator, and not an intercommunicator.
bool has_one_group(MPI_Comm comm);

/// Guards the process (progress/rules.hpp) if the reduction calls a function of the program. To be called
/// before the library gets a non-blocking or persistent reduction.
void note_background_reduction(MPI_Op op);

/// Whether buffers of a call may be in device memory, and the library does not take that. Takes a few
/// nanoseconds for most host memory. The address alone decides: elements are in the memory in which it is
/// (MPI 4.1, section 5.1.12), unless it is MPI_BOTTOM.
bool may_concern_device(const ProgramCall& program_call);

/// To be called before the library carries a call out. call_with(input, output) calls its function with these
/// buffers (nullptr: the program's own). If the result is not empty, the call has been made, or must not be.
template <typename CallWith>
std::optional<int> prepare_library_call(const ProgramCall& program_call, const CallWith& call_with) {
  if (program_call.form != Form::blocking && program_call.op != MPI_Op{})
    note_background_reduction(program_call.op);
  if (may_concern_device(program_call) && has_one_group(program_call.comm)) {
    const auto staged = stage_for_library(buffers_of(program_call), program_call.form, program_call.request,
                                          program_call.comm, call_with);
    if (staged) return staged;
  }
  if (device_stream() == nullptr) return std::nullopt;
  const BufferArgument& input = program_call.sent.exists ? program_call.sent : program_call.received;
  const int error = await_device_stream(input.address, program_call.received.memory(), program_call.comm);
  return error == MPI_SUCCESS ? std::nullopt : std::optional(error);
}

/// Lives while the library carries a call out. The thread may wait in that call.
class NativeCall {
 public:
  explicit NativeCall(const ProgramCall& program_call) {
    if (program_call.form == Form::blocking) elsewhere_.emplace();
    if (program_call.library_call) observed_.emplace(*program_call.library_call, program_call.form);
  }

 private:
  std::optional<BlockedScope> elsewhere_;
  std::optional<ObservedCall> observed_;
};

}  // namespace stretto
