// SPDX-License-Identifier: Apache-2.0
// Streams of devices. torch puts its operations on a tensor into the current stream of the tensor's device. A
// call must begin after these operations, without a wait in the program's thread.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace stretto_torch {

/// A scope in which calls of this thread begin only after the operations that are in the current stream of a
/// tensor's device.
class AfterCurrentStream {
 public:
  explicit AfterCurrentStream(const at::Tensor& tensor);
  AfterCurrentStream(const AfterCurrentStream&) = delete;
  AfterCurrentStream& operator=(const AfterCurrentStream&) = delete;
  ~AfterCurrentStream();

 private:
  bool is_set_ = false;
  void* before_ = nullptr;
};

/// Returns the devices of tensors, each once, without the CPU.
std::vector<c10::Device> devices_of(const std::vector<at::Tensor>& tensors);

/// A scope in which this thread's operations on tensors of these devices are in separate streams. In the
/// default stream they would come after all operations that the program has put there since.
class OnSideStreams {
 public:
  explicit OnSideStreams(const std::vector<c10::Device>& devices);
  OnSideStreams(const OnSideStreams&) = delete;
  OnSideStreams& operator=(const OnSideStreams&) = delete;
  ~OnSideStreams();

  /// Waits until the devices have done these operations.
  void wait() const;

 private:
  struct Streams {
    c10::Stream of_thread;
    c10::Stream side;
  };
  std::vector<Streams> streams_;
};

}  // namespace stretto_torch
