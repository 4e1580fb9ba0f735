// SPDX-License-Identifier: Apache-2.0
#include "engine/device/device_context.hpp"

#include <mutex>
#include <new>

namespace stretto {

constinit Immortal<DeviceContext::Table> DeviceContext::contexts;

DeviceContext* DeviceContext::find(const DeviceDriver& driver, DeviceDriver::Context handle, int& error) {
  Table& table = contexts();
  const std::lock_guard guard(table.lock);
  for (DeviceContext* one : table.all) {
    if (one->handle_ == handle && !one->is_lost_) return one;
  }
  auto* made = new DeviceContext(handle);
  error = made->make_streams(driver);
  if (error != DeviceDriver::success) {
    delete made;
    return nullptr;
  }
  table.all.push_back(made);
  return made;
}

int DeviceContext::make_streams(const DeviceDriver& driver) {
  constexpr unsigned without_default_stream = 1;
  int least = 0;
  int greatest = 0;
  int error = driver.stream_priorities(&least, &greatest);
  for (DeviceDriver::Stream& stream : streams_) {
    if (error != DeviceDriver::success) return error;
    error = driver.make_stream(&stream, without_default_stream, greatest);
  }
  return error;
}

void DeviceContext::lose() {
  const std::lock_guard guard(contexts().lock);
  is_lost_ = true;
}

DeviceDriver::Event DeviceContext::take_event(const DeviceDriver& driver, int& error) {
  {
    const std::lock_guard guard(lock_);
    if (!idle_.empty()) {
      DeviceDriver::Event event = idle_.back();
      idle_.pop_back();
      return event;
    }
  }
  constexpr unsigned without_time = 2;
  DeviceDriver::Event event = nullptr;
  error = driver.make_event(&event, without_time);
  return error == DeviceDriver::success ? event : nullptr;
}

void DeviceContext::give_back(DeviceDriver::Event event) noexcept {
  try {
    const std::lock_guard guard(lock_);
    idle_.push_back(event);
  } catch (const std::bad_alloc&) {
    static_cast<void>(event);  // one event less
  }
}

}  // namespace stretto
