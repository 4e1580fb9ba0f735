// SPDX-License-Identifier: Apache-2.0
// What a program has asked a device to do before it makes a call.
#pragma once

#include <initializer_list>

#include "engine/device/device_driver.hpp"

namespace stretto {

class DeviceContext;

/// From now on, calls of this thread whose buffers are in device memory begin when the device has done what
/// is in this stream of the program by then. nullptr: what is in the default stream, but calls that are
/// carried out by others wait for nothing. Returns the one before.
void* set_device_stream(void* stream);
void* device_stream();
/// Whether this thread has named one that is not the default stream.
bool follows_other_stream();

/// Waits until the device has done what is in the stream that this thread has set, if it has set one: for a
/// call with these buffers that is carried out by others. Returns the driver's error.
int wait_for_device_stream(std::initializer_list<const void*> buffers);

/// An event in a stream of the program: all that is in the stream by then.
class StreamEvent {
 public:
  StreamEvent() = default;
  StreamEvent(const StreamEvent&) = delete;
  StreamEvent& operator=(const StreamEvent&) = delete;
  /// An event that is still to come is left: it must not be used for something else.
  ~StreamEvent() = default;

  /// Puts it into a stream. nullptr, or the default stream by its name: into that of `context`, so that it
  /// comes after every stream that this one waits for. Returns the driver's error.
  int record(const DeviceDriver& driver, DeviceDriver::Context context, DeviceDriver::Stream stream);
  /// Returns whether it has come, also after an error. Does not wait.
  bool has_come(const DeviceDriver& driver, int& error);

 private:
  DeviceContext* context_ = nullptr;
  DeviceDriver::Event event_ = nullptr;  // nullptr: it has come
};

}  // namespace stretto
