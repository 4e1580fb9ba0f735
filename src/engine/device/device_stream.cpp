// SPDX-License-Identifier: Apache-2.0
#include "engine/device/device_stream.hpp"

#include <sched.h>

#include <utility>

#include "engine/device/device_context.hpp"

namespace stretto {
namespace {

thread_local void* stream_of_thread = nullptr;

}  // namespace

void* set_device_stream(void* stream) {
  return std::exchange(stream_of_thread, stream);
}

void* device_stream() {
  return stream_of_thread;
}

bool follows_other_stream() {
  return stream_of_thread != nullptr && stream_of_thread != DeviceDriver::default_stream();
}

int wait_for_device_stream(std::initializer_list<const void*> buffers) {
  const DeviceDriver* driver = stream_of_thread == nullptr ? nullptr : DeviceDriver::loaded();
  if (driver == nullptr) return DeviceDriver::success;
  int error = DeviceDriver::success;
  const auto wait_in = [&](DeviceDriver::Context context) {
    StreamEvent event;
    if (error == DeviceDriver::success) error = event.record(*driver, context, stream_of_thread);
    while (error == DeviceDriver::success && !event.has_come(*driver, error)) sched_yield();
  };
  if (follows_other_stream()) {
    wait_in(nullptr);
  } else {
    for (const void* buffer : buffers) {
      if (driver->is_device_memory(buffer)) wait_in(driver->context_of(buffer));
    }
  }
  return error;
}

int StreamEvent::record(const DeviceDriver& driver, DeviceDriver::Context context,
                        DeviceDriver::Stream stream) {
  event_ = nullptr;
  DeviceDriver::Context of_stream = context;
  if (stream == DeviceDriver::default_stream()) stream = nullptr;
  if (stream != nullptr && driver.context_of_stream != nullptr) {
    if (const int error = driver.context_of_stream(stream, &of_stream); error != DeviceDriver::success)
      return error;
  }
  const ContextGuard guard(driver, of_stream);
  int error = DeviceDriver::success;
  context_ = DeviceContext::find(driver, of_stream, error);
  if (context_ == nullptr) return error;
  event_ = context_->take_event(driver, error);
  if (event_ == nullptr) return error;
  error = driver.record_event(event_, stream != nullptr ? stream : DeviceDriver::default_stream());
  if (error != DeviceDriver::success) event_ = nullptr;
  return error;
}

bool StreamEvent::has_come(const DeviceDriver& driver, int& error) {
  if (event_ == nullptr) return true;
  const ContextGuard guard(driver, context_->handle());
  const int status = driver.query_event(event_);
  if (status == DeviceDriver::not_ready) return false;
  if (status == DeviceDriver::success) {
    context_->give_back(event_);
  } else {
    error = status;
    context_->lose();
  }
  event_ = nullptr;
  return true;
}

}  // namespace stretto
