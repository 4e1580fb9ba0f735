// SPDX-License-Identifier: Apache-2.0
// Waits for the work that a program has given to a device before it makes a call.
#pragma once

#include <initializer_list>

#include "engine/device/device_driver.hpp"

namespace stretto {

class DeviceContext;

/// From now on, calls of this thread whose buffers are in device memory begin when the device has done all
/// that this stream of the program holds at the call. nullptr means the default stream, but then calls that
/// Stretto does not carry out wait for nothing. Returns the previous stream.
void* set_device_stream(void* stream);
void* device_stream();
/// Whether this thread has set a stream that is not the default stream.
bool follows_other_stream();

/// Waits until the device has done all that is in the stream that this thread has set, if it has set one. For
/// a call with these buffers that Stretto does not carry out. Returns the driver's error.
int wait_for_device_stream(std::initializer_list<const void*> buffers);

/// An event in a stream of the program. It comes when the device has done all that was in the stream before
/// it.
class StreamEvent {
 public:
  StreamEvent() = default;
  StreamEvent(const StreamEvent&) = delete;
  StreamEvent& operator=(const StreamEvent&) = delete;
  /// Leaves an event that is still to come: it must not be used for something else.
  ~StreamEvent() = default;

  /// Puts the event into a stream. nullptr, or the default stream by its name, means that of `context`; then
  /// the event comes after every stream for which the default stream waits. Returns the driver's error.
  int record(const DeviceDriver& driver, DeviceDriver::Context context, DeviceDriver::Stream stream);
  /// Returns whether the event has come. It counts as come after an error. Does not wait.
  bool has_come(const DeviceDriver& driver, int& error);

 private:
  DeviceContext* context_ = nullptr;
  DeviceDriver::Event event_ = nullptr;  // nullptr: it has come
};

}  // namespace stretto
