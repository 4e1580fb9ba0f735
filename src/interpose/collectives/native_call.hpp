// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "interpose/dispatch/form.hpp"
#include "interpose/observe/trace.hpp"
#include "interpose/observe/watchdog.hpp"
#include "interpose/progress/progress.hpp"

namespace stretto {

/// What is told of a call that the library carries out. Of one that is not blocking only the start is seen.
class ToldCall final : public Watched {
 public:
  ToldCall(const LibraryCall& call, Face face);
  ~ToldCall() override;
  bool try_describe(std::string& text) override;
  [[nodiscard]] const Communicator& communicator() const override { return *call_.state; }
  [[nodiscard]] std::uint64_t number() const override { return call_.sequence; }

 private:
  const LibraryCall& call_;
  double began_;
  std::unique_ptr<TracedCall> trace_;
};

/// Lives while the library carries a call out, which may wait there.
class NativeCall {
 public:
  explicit NativeCall(const Form& form) {
    if (form.face == Face::blocking) elsewhere_.emplace();
    if (form.told) told_.emplace(*form.told, form.face);
  }

 private:
  std::optional<WaitingElsewhere> elsewhere_;
  std::optional<ToldCall> told_;
};

}  // namespace stretto
