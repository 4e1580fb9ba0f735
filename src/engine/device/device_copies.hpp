// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <span>

#include "engine/data/segment_copies.hpp"
#include "engine/device/device_driver.hpp"

namespace stretto {

class DeviceContext;

/// Copies in one direction between device and host memory, one after the other, on a stream of their own.
/// They form units, which are counted. The stream does not wait for those of the program, nor do they wait
/// for it.
class DeviceCopies {
 public:
  DeviceCopies() = default;
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;
  /// Leaves the events of copies under way. The owner must keep the memory of such copies.
  ~DeviceCopies() = default;

  /// To be called before a call's first copy. No copy may be under way.
  void begin(const DeviceDriver& driver, DeviceDriver::Context context, CopyDirection direction);
  /// Sets the observer of the copies; nullptr: they are not observed.
  void observe(CopyObserver* observer) { observer_ = observer; }

  /// Opens a unit, which is `part` of a call.
  void begin_unit(const CopiedPart& part);
  /// Adds a run of bytes to the open unit. Adjacent runs are one copy. So are runs of one length at equal
  /// distances, if the distances are the same on both sides.
  void add(DeviceDriver::Address device, std::byte* host, std::size_t bytes);
  /// Adds runs of bytes, which count from both addresses.
  void add_runs(const void* device, std::byte* host, std::span<const Range> runs);
  /// Ends the unit.
  void end_unit();
  /// Returns how many units have ended. Does not wait.
  std::size_t ended_units();

  /// Whether nothing is under way that could still write to memory.
  bool is_idle() { return ended_units() == units_; }
  /// The driver's first error, or 0. After an error, no copy is begun.
  [[nodiscard]] int error() const { return error_; }
  /// Whether copies whose end cannot be seen may be under way.
  [[nodiscard]] bool may_still_run() const { return may_still_run_; }

 private:
  struct Unit {
    CopiedPart part;
    std::size_t bytes = 0;
    bool is_observed = false;
    std::size_t number = 0;               // that the observer gave it
    DeviceDriver::Event event = nullptr;  // nullptr: it has no copies
  };

  /// `count` runs of `bytes`, `pitch` bytes from one to the next.
  struct Rows {
    DeviceDriver::Address device = 0;
    std::byte* host = nullptr;
    std::size_t bytes = 0;  // 0: there are none
    std::size_t count = 1;
    std::size_t pitch = 0;
  };

  void start_rows();
  void start_at_once(const Rows& rows);
  void start_one(DeviceDriver::Address device, std::byte* host, std::size_t bytes);
  void check(int error);
  template <typename Attempt>
  int retry(const Attempt& attempt);
  void lose_track();

  const DeviceDriver* driver_ = nullptr;
  DeviceDriver::Context handle_ = nullptr;
  DeviceContext* context_ = nullptr;
  DeviceDriver::Stream stream_ = nullptr;
  CopyDirection direction_ = CopyDirection::to_host;
  CopyObserver* observer_ = nullptr;
  std::size_t units_ = 0;
  std::size_t ended_ = 0;
  Unit open_;
  Rows rows_;                // of the open unit, not begun yet
  bool has_copies_ = false;  // of the open unit
  int error_ = 0;
  bool may_still_run_ = false;
  std::deque<Unit> under_way_;
};

}  // namespace stretto
