// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "engine/data/segment_copies.hpp"
#include "engine/device/device_driver.hpp"
#include "threads/immortal.hpp"
#include "threads/spin_lock.hpp"

namespace stretto {

/// The objects that Stretto has made in a context of the driver: a stream for each direction of copies, and
/// events that are not in use. They are never freed, since the context may be gone.
class DeviceContext {
 public:
  /// Returns the objects of a context, which are made at its first use. Returns nullptr, with the driver's
  /// error, if the driver cannot make them. The context must be current.
  static DeviceContext* find(const DeviceDriver& driver, DeviceDriver::Context handle, int& error);

  [[nodiscard]] DeviceDriver::Context handle() const { return handle_; }
  [[nodiscard]] DeviceDriver::Stream stream(CopyDirection direction) const {
    return streams_.at(static_cast<std::size_t>(direction));
  }

  /// Keeps find() from returning this: its context may be gone, and another one may get the same handle.
  void lose();

  /// Returns an event; nullptr, with the driver's error, if there is none.
  DeviceDriver::Event take_event(const DeviceDriver& driver, int& error);
  void give_back(DeviceDriver::Event event) noexcept;

 private:
  struct Table {
    SpinLock lock;
    std::vector<DeviceContext*> all;
  };
  static constinit Immortal<Table> contexts;

  explicit DeviceContext(DeviceDriver::Context handle) : handle_(handle) {}
  int make_streams(const DeviceDriver& driver);

  DeviceDriver::Context handle_;
  std::array<DeviceDriver::Stream, 2> streams_{};
  bool is_lost_ = false;  // guarded by the lock of the table
  SpinLock lock_;
  std::vector<DeviceDriver::Event> idle_;
};

}  // namespace stretto
