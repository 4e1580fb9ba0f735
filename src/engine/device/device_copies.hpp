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
/// Units are counted, each of some copies. The stream does not wait for those of the program, nor they for
/// it.
class DeviceCopies {
 public:
  DeviceCopies() = default;
  DeviceCopies(const DeviceCopies&) = delete;
  DeviceCopies& operator=(const DeviceCopies&) = delete;
  /// Events of copies under way are left. Their memory is the owner's affair.
  ~DeviceCopies() = default;

  /// To be called before a call's first copy. No copy may be under way.
  void begin(const DeviceDriver& driver, DeviceDriver::Context context, CopyDirection direction);
  /// nullptr: they are not observed.
  void observe(CopyObserver* observer) { observer_ = observer; }

  /// Opens a unit, which is `part` of a call.
  void begin_unit(const CopiedPart& part);
  /// Adds a run of bytes to the open unit. Runs that follow each other are one copy, and so are several of
  /// one length at one distance from each other, the same on both sides.
  void add(DeviceDriver::Address device, std::byte* host, std::size_t bytes);
  /// Adds runs of bytes, from both addresses on.
  void add_runs(const void* device, std::byte* host, std::span<const Range> runs);
  /// Ends the unit.
  void end_unit();
  /// Returns how many units have ended. Looks, and does not wait.
  std::size_t ended_units();

  /// Whether nothing is under way that could still write to memory.
  bool is_idle() { return ended_units() == units_; }
  /// The driver's first error, or 0. After it, nothing more is begun.
  [[nodiscard]] int error() const { return error_; }
  /// Whether copies whose end cannot be seen may be under way.
  [[nodiscard]] bool may_still_run() const { return may_still_run_; }

 private:
  struct Unit {
    CopiedPart part;
    std::size_t bytes = 0;
    bool is_observed = false;
    std::size_t number = 0;               // as the observer has it
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
