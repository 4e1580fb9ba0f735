// SPDX-License-Identifier: Apache-2.0
#include "engine/device/device_copies.hpp"

#include <utility>

#include "engine/device/device_context.hpp"

namespace stretto {

void DeviceCopies::begin(const DeviceDriver& driver, DeviceDriver::Context context, CopyDirection direction) {
  driver_ = &driver;
  handle_ = context;
  context_ = nullptr;
  direction_ = direction;
  units_ = ended_ = 0;
  has_copies_ = false;
  if (!may_still_run_) error_ = DeviceDriver::success;
  const ContextGuard guard(driver, context);
  int error = DeviceDriver::success;
  context_ = DeviceContext::find(driver, context, error);
  if (context_ == nullptr) return check(error);
  stream_ = context_->stream(direction);
}

void DeviceCopies::check(int error) {
  if (error != DeviceDriver::success && error_ == DeviceDriver::success) error_ = error;
}

/// Stops tracking copies under way, which can no longer be awaited.
void DeviceCopies::lose_track() {
  may_still_run_ = may_still_run_ || has_copies_ || !under_way_.empty();
  under_way_.clear();
  ended_ = units_;
  if (context_ != nullptr) context_->lose();
}

void DeviceCopies::begin_unit(const CopiedPart& part) {
  open_ = {.part = part};
}

void DeviceCopies::add(DeviceDriver::Address device, std::byte* host, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceDriver::Address last = rows_.device + (rows_.count - 1) * rows_.pitch;
  if (rows_.bytes > 0 && rows_.count == 1 && device == last + rows_.bytes) {
    rows_.bytes += bytes;
    return;
  }
  const bool is_behind = rows_.bytes == bytes && device > last;
  if (is_behind && (rows_.count == 1 || device - last == rows_.pitch)) {
    rows_.pitch = device - last;
    ++rows_.count;
    return;
  }
  start_rows();
  rows_ = {.device = device, .host = host, .bytes = bytes};
}

void DeviceCopies::add_runs(const void* device, std::byte* host, std::span<const Range> runs) {
  for (const Range& run : runs) add(device_address(device) + run.first, host + run.first, run.count);
}

/// Begins to copy the rows that were added last.
void DeviceCopies::start_rows() {
  const Rows rows = std::exchange(rows_, {});
  if (error_ != DeviceDriver::success || rows.bytes == 0) return;
  if (observer_ != nullptr && !open_.is_observed) {
    open_.number = observer_->copy_begins(direction_, open_.part);
    open_.is_observed = true;
  }
  open_.bytes += rows.bytes * rows.count;
  const ContextGuard guard(*driver_, handle_);
  // Some devices cannot copy rows that are farther apart.
  constexpr std::size_t most_pitch = (std::size_t{1} << 31) - 1;
  if (rows.count > 1 && rows.pitch <= most_pitch) return start_at_once(rows);
  for (std::size_t row = 0; row < rows.count && error_ == DeviceDriver::success; ++row)
    start_one(rows.device + row * rows.pitch, rows.host + row * rows.pitch, rows.bytes);
}

void DeviceCopies::start_at_once(const Rows& rows) {
  using End = DeviceDriver::Rows::End;
  const End device{.memory_type = End::device, .device_address = rows.device, .pitch = rows.pitch};
  const End host{.memory_type = End::host, .host_address = rows.host, .pitch = rows.pitch};
  const bool to_host = direction_ == CopyDirection::to_host;
  const DeviceDriver::Rows for_driver{.from = to_host ? device : host,
                                      .to = to_host ? host : device,
                                      .width = rows.bytes,
                                      .height = rows.count};
  check(driver_->copy_2d_async(&for_driver, stream_));
  has_copies_ = true;
}

void DeviceCopies::start_one(DeviceDriver::Address device, std::byte* host, std::size_t bytes) {
  const bool to_host = direction_ == CopyDirection::to_host;
  check(to_host ? driver_->to_host_async(host, device, bytes, stream_)
                : driver_->to_device_async(device, host, bytes, stream_));
  has_copies_ = true;
}

/// Calls attempt(), in the context, until it returns no error, but only a few times. The operation has failed
/// by then, but knowing when copies have ended is worth another try.
template <typename Attempt>
int DeviceCopies::retry(const Attempt& attempt) {
  constexpr int most_attempts = 3;
  int error = DeviceDriver::success;
  if (DeviceDriver::loaded() == nullptr) {
    check(DeviceDriver::not_initialized);
    return DeviceDriver::not_initialized;  // this is a child of the process that has the context
  }
  for (int i = 0; i < most_attempts; ++i) {
    const ContextGuard guard(*driver_, handle_);
    error = attempt();
    if (error == DeviceDriver::success || error == DeviceDriver::not_ready) break;
    check(error);
  }
  return error;
}

void DeviceCopies::end_unit() {
  start_rows();
  ++units_;
  DeviceDriver::Event& event = open_.event;
  if (has_copies_) {
    const int error = retry([&] {
      int status = DeviceDriver::success;
      if (event == nullptr) event = context_->take_event(*driver_, status);
      return event == nullptr ? status : driver_->record_event(event, stream_);
    });
    if (error != DeviceDriver::success) return lose_track();
    has_copies_ = false;
  }
  under_way_.push_back(open_);
}

std::size_t DeviceCopies::ended_units() {
  while (!under_way_.empty()) {
    const Unit& unit = under_way_.front();
    DeviceDriver::Event event = unit.event;
    const int status =
        event == nullptr ? DeviceDriver::success : retry([&] { return driver_->query_event(event); });
    if (status == DeviceDriver::not_ready) break;
    if (status != DeviceDriver::success) {
      lose_track();
      break;
    }
    if (unit.is_observed && observer_ != nullptr) observer_->copy_ends(unit.number, unit.bytes);
    under_way_.pop_front();
    if (event != nullptr) context_->give_back(event);
    ++ended_;
  }
  return ended_;
}

}  // namespace stretto
