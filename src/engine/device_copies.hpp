// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "engine/device_driver.hpp"
#include "engine/segment_copies.hpp"

namespace stretto {

class DeviceContext;

/// What a program has asked a device to do before it made a call: an event in one of its streams.
class DeviceOrder {
 public:
  DeviceOrder() = default;
  DeviceOrder(const DeviceOrder&) = delete;
  DeviceOrder& operator=(const DeviceOrder&) = delete;
  ~DeviceOrder();

  /// Begins to follow all that is in a stream by now. nullptr, or the default stream by its name: in that of
  /// `context`, and in every stream that waits for that one. Returns the driver's error.
  int follow(const DeviceDriver& driver, DeviceDriver::Context context, DeviceDriver::Stream stream);
  /// Returns whether it has been done, also after an error. Does not wait.
  bool is_done(const DeviceDriver& driver, int& error);

 private:
  DeviceContext* context_ = nullptr;
  DeviceDriver::Event event_ = nullptr;  // nullptr: it is done
};

/// Copies in one direction between device and host memory, one after the other, on a stream of their own.
/// Units are counted, each of some copies. The stream does not wait for those of the program, nor they for
/// it.
class DeviceCopies {
 public:
  /// `rows` runs of `bytes`, `pitch` bytes from one to the next on either side.
  struct Copy {
    DeviceDriver::Address device = 0;
    std::byte* host = nullptr;
    std::size_t bytes = 0;
    std::size_t rows = 1;
    std::size_t pitch = 0;
  };

  DeviceCopies() = default;
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;
  ~DeviceCopies();

  /// To be called before a call's first copy. No copy may be under way.
  void begin(const DeviceDriver& driver, DeviceDriver::Context context, CopyDirection direction);
  /// nullptr: they are not observed.
  void observe(CopyObserver* observer) { observer_ = observer; }

  /// Opens a unit, which is `part` of a call.
  void begin_unit(const CopiedPart& part);
  /// Adds a copy to the open unit.
  void add(const Copy& copy);
  /// Ends the unit.
  void end_unit();
  /// Returns how many units have ended. Looks, and does not wait.
  std::size_t ended_units();

  /// Whether nothing is under way that could still write to memory.
  bool is_idle() { return ended_units() == units_; }
  /// The driver's first error, or 0. After it, nothing more is begun.
  [[nodiscard]] int error() const { return error_; }
  /// Whether copies that were begun may go on unseen.
  [[nodiscard]] bool is_blind() const { return is_blind_; }

 private:
  struct Unit {
    CopiedPart part;
    std::size_t bytes = 0;
    bool is_observed = false;
    std::size_t number = 0;               // as the observer has it
    DeviceDriver::Event event = nullptr;  // nullptr: it has no asynchronous copies
  };

  void check(int error);
  template <typename Attempt>
  int insist(const Attempt& attempt);
  void lose_sight();

  const DeviceDriver* driver_ = nullptr;
  DeviceDriver::Context handle_ = nullptr;
  DeviceContext* context_ = nullptr;
  DeviceDriver::Stream stream_ = nullptr;
  CopyDirection direction_ = CopyDirection::to_host;
  CopyObserver* observer_ = nullptr;
  std::size_t units_ = 0;
  std::size_t ended_ = 0;
  Unit open_;
  bool has_copies_ = false;  // asynchronous ones, of the open unit
  int error_ = 0;
  bool is_blind_ = false;
  std::deque<Unit> under_way_;
};

}  // namespace stretto
