// SPDX-License-Identifier: Apache-2.0
#include "streams.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

#include "interface.hpp"

namespace stretto_torch {
namespace {

using Guard = c10::impl::VirtualGuardImpl;

/// Returns the driver's handle of a stream. Older versions of torch do not provide it. Then this waits for
/// the stream, unless it is the default stream, and returns nullptr, which is the default stream.
template <typename ItsGuard>
auto handle_of(const ItsGuard& guard, const c10::Stream& stream, int /*preferred*/)
    -> decltype(guard.getStreamNativeHandle(stream)) {
  return guard.getStreamNativeHandle(stream);
}
template <typename ItsGuard>
void* handle_of(const ItsGuard& guard, const c10::Stream& stream, long /*otherwise*/) {
  constexpr c10::StreamId of_default = 0;
  if (stream.id() != of_default) guard.synchronizeStream(stream);
  return nullptr;
}

}  // namespace

AfterCurrentStream::AfterCurrentStream(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().is_cpu()) return;
  const Guard guard(tensor.device().type());
  void* const its = handle_of(guard, guard.getStream(tensor.device()), 0);
  // Without a stream, a call that the MPI library carries out would not wait for the default stream.
  before_ = stretto.set_device_stream(its == nullptr ? STRETTO_DEFAULT_STREAM : its);
  is_set_ = true;
}

AfterCurrentStream::~AfterCurrentStream() {
  if (is_set_) stretto.set_device_stream(before_);
}

std::vector<c10::Device> devices_of(const std::vector<at::Tensor>& tensors) {
  std::vector<c10::Device> devices;
  for (const at::Tensor& tensor : tensors) {
    const c10::Device device = tensor.device();
    if (!device.is_cpu() && std::find(devices.begin(), devices.end(), device) == devices.end())
      devices.push_back(device);
  }
  return devices;
}

OnSideStreams::OnSideStreams(const std::vector<c10::Device>& devices) {
  for (const c10::Device device : devices) {
    const Guard guard(device.type());
    const c10::Stream side = guard.getStreamFromGlobalPool(device);
    streams_.push_back({guard.exchangeStream(side), side});
  }
}

OnSideStreams::~OnSideStreams() {
  for (const Streams& streams : streams_) Guard(streams.side.device_type()).exchangeStream(streams.of_thread);
}

void OnSideStreams::wait() const {
  for (const Streams& streams : streams_) Guard(streams.side.device_type()).synchronizeStream(streams.side);
}

}  // namespace stretto_torch
