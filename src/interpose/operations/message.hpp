// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "engine/call.hpp"

namespace stretto {

/// The program's buffers as the engine's call. Its buffers must stay as they are while the call is under way;
/// a persistent collective begins and finishes the same message again and again.
class Message {
 public:
  explicit Message(const Call& of) : call(of) {}
  /// Where the caller's blocks begin, one a rank, and the end.
  Message(const Call& of, std::vector<std::size_t> borders) : call(of), borders_(std::move(borders)) {
    call.borders = borders_;
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  virtual ~Message() = default;

  /// Brings the input to where `call` wants it, and the result to where the program does. Return an MPI error
  /// code.
  virtual int begin() { return MPI_SUCCESS; }
  virtual int finish() { return MPI_SUCCESS; }
  /// After an error, MPI may still write to what is its own.
  virtual void abandon() {}

  Call call;

 protected:
  Message() = default;
  std::vector<std::size_t> borders_;
};

}  // namespace stretto
