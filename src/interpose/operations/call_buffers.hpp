// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "engine/data/call.hpp"

namespace stretto {

/// The program's buffers as a call of the engine. They must not change while the call is in flight. A
/// persistent collective begins and finishes the same message again and again.
class CallBuffers {
 public:
  explicit CallBuffers(const Call& of) : call(of) {}
  /// `borders` has the place where the block of each rank begins, and the end of the last one.
  CallBuffers(const Call& of, std::vector<std::size_t> borders) : call(of), borders_(std::move(borders)) {
    call.borders = borders_;
  }
  CallBuffers(const CallBuffers&) = delete;
  CallBuffers& operator=(const CallBuffers&) = delete;
  virtual ~CallBuffers() = default;

  /// begin() brings the input to where `call` expects it. finish() brings the result to where the program
  /// expects it. Both return an MPI error code.
  int begin() { return is_refused() ? refusal_ : bring_input(); }
  virtual int finish() { return MPI_SUCCESS; }
  /// Makes the call fail, because this rank sees an error of the program in it. `told` is the communicator
  /// whose error handler is called; if it is null, that is the call's communicator.
  void refuse(int error, MPI_Comm told = mpi.comm_null) {
    refusal_ = error;
    told_ = told;
  }
  [[nodiscard]] bool is_refused() const { return refusal_ != MPI_SUCCESS; }
  [[nodiscard]] MPI_Comm told() const { return told_; }
  /// Keeps the message's own memory allocated: after an error, MPI may still write to it.
  virtual void abandon() {}

  Call call;

 protected:
  CallBuffers() = default;
  std::vector<std::size_t> borders_;

 private:
  virtual int bring_input() { return MPI_SUCCESS; }

  int refusal_ = MPI_SUCCESS;
  MPI_Comm told_ = mpi.comm_null;
};

}  // namespace stretto
