// SPDX-License-Identifier: Apache-2.0
// Streams of devices. torch puts what it does with a tensor into the current stream of the tensor's device. A
// call must begin after that, without a wait in the program's thread.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace stretto_torch {

/// While it lives, calls of this thread begin when the device of a tensor has done what is in its current
/// stream by then.
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

/// The devices of tensors, each once, without the CPU.
std::vector<c10::Device> devices_of(const std::vector<at::Tensor>& tensors);

/// While it lives, what this thread does with tensors on these devices is in streams of their own. In the
/// default stream it would come after all that the program has put there since.
class OnSideStreams {
 public:
  explicit OnSideStreams(const std::vector<c10::Device>& devices);
  OnSideStreams(const OnSideStreams&) = delete;
  OnSideStreams& operator=(const OnSideStreams&) = delete;
  ~OnSideStreams();

  /// Waits until the devices have done it.
  void wait() const;

 private:
  struct Streams {
    c10::Stream of_thread;
    c10::Stream side;
  };
  std::vector<Streams> streams_;
};

}  // namespace stretto_torch
