// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/device_stream.hpp"
#include "interpose/dispatch/form.hpp"
#include "interpose/observe/trace.hpp"
#include "interpose/observe/watchdog.hpp"
#include "interpose/progress/progress.hpp"

namespace stretto {

/// Reports a call that the library carries out to the observers. For a non-blocking or persistent call it
/// covers the start only.
class ObservedCall final : public Watched {
 public:
  ObservedCall(const LibraryCall& call, Face face);
  ~ObservedCall() override;
  bool try_describe(std::string& text) override;
  [[nodiscard]] const Communicator& communicator() const override { return *call_.state; }
  [[nodiscard]] std::uint64_t number() const override { return call_.sequence; }

 private:
  const LibraryCall& call_;
  double began_;
  std::unique_ptr<TracedCall> trace_;
};

/// Waits until the device has done what is in the stream that the program has named (device_stream()): the
/// library does not know of it. To be called before the library gets buffers of the program. If that cannot
/// be awaited, returns an error, already reported to the handler of `comm`: the call must not be made.
int await_device_stream(const void* input, const void* output, MPI_Comm comm);

/// Lives while the library carries a call out, which may wait there.
class NativeCall {
 public:
  explicit NativeCall(const Form& form) {
    if (form.face == Face::blocking) elsewhere_.emplace();
    if (form.library_call) observed_.emplace(*form.library_call, form.face);
  }

 private:
  std::optional<BlockedScope> elsewhere_;
  std::optional<ObservedCall> observed_;
};

}  // namespace stretto
