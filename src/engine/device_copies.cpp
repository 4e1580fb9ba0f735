// SPDX-License-Identifier: Apache-2.0
#include "engine/device_copies.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <vector>

#include "threads/immortal.hpp"
#include "threads/spin_lock.hpp"

namespace stretto {

/// What this library has made in a context: a stream for each direction, and events that are not in use.
class DeviceContext {
 public:
  /// Returns what there is for a context, made at its first use; nullptr, and the driver's error, if the
  /// driver cannot make it. The context must be current.
  static DeviceContext* find(const DeviceDriver& driver, DeviceDriver::Context handle, int& error) {
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

  [[nodiscard]] DeviceDriver::Context handle() const { return handle_; }
  [[nodiscard]] DeviceDriver::Stream stream(CopyDirection direction) const {
    return streams_.at(static_cast<std::size_t>(direction));
  }

  /// Its context may be gone, and another one may get the same handle.
  void lose() {
    const std::lock_guard guard(contexts().lock);
    is_lost_ = true;
  }

  DeviceDriver::Event take_event(const DeviceDriver& driver, int& error) {
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

  void give_back(DeviceDriver::Event event) noexcept {
    try {
      const std::lock_guard guard(lock_);
      idle_.push_back(event);
    } catch (const std::bad_alloc&) {
      static_cast<void>(event);  // one event less
    }
  }

 private:
  struct Table {
    SpinLock lock;
    std::vector<DeviceContext*> all;
  };
  static Table& contexts() {
    static auto& table = make_immortal<Table>();
    return table;
  }

  explicit DeviceContext(DeviceDriver::Context handle) : handle_(handle) {}

  int make_streams(const DeviceDriver& driver) {
    constexpr unsigned without_default_stream = 1;
    int least = 0;
    int greatest = 0;
    if (const int error = driver.priorities(&least, &greatest); error != DeviceDriver::success) return error;
    for (DeviceDriver::Stream& stream : streams_) {
      const int error = driver.make_stream(&stream, without_default_stream, greatest);
      if (error != DeviceDriver::success) return error;
    }
    return DeviceDriver::success;
  }

  DeviceDriver::Context handle_;
  std::array<DeviceDriver::Stream, 2> streams_{};
  bool is_lost_ = false;  // under the lock of the table
  SpinLock lock_;
  std::vector<DeviceDriver::Event> idle_;
};

DeviceOrder::~DeviceOrder() {
  // An event that is still to come must not be used for something else. It is left.
  event_ = nullptr;
}

int DeviceOrder::follow(const DeviceDriver& driver, DeviceDriver::Context context,
                        DeviceDriver::Stream stream) {
  event_ = nullptr;
  if (!driver.is_asynchronous()) return DeviceDriver::success;  // its copies wait for the default stream
  DeviceDriver::Context its = context;
  if (stream == DeviceDriver::default_stream()) stream = nullptr;
  if (stream != nullptr && driver.context_of_stream != nullptr) {
    if (const int error = driver.context_of_stream(stream, &its); error != DeviceDriver::success)
      return error;
  }
  const ContextGuard guard(driver, its);
  int error = DeviceDriver::success;
  context_ = DeviceContext::find(driver, its, error);
  if (context_ == nullptr) return error;
  event_ = context_->take_event(driver, error);
  if (event_ == nullptr) return error;
  error = driver.record(event_, stream != nullptr ? stream : DeviceDriver::default_stream());
  if (error != DeviceDriver::success) event_ = nullptr;
  return error;
}

bool DeviceOrder::is_done(const DeviceDriver& driver, int& error) {
  if (event_ == nullptr) return true;
  const ContextGuard guard(driver, context_->handle());
  const int status = driver.query(event_);
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

DeviceCopies::~DeviceCopies() {
  // Events of copies under way are left. Their memory is the owner's affair.
  under_way_.clear();
}

void DeviceCopies::begin(const DeviceDriver& driver, DeviceDriver::Context context, CopyDirection direction) {
  driver_ = &driver;
  handle_ = context;
  context_ = nullptr;
  direction_ = direction;
  units_ = ended_ = 0;
  has_copies_ = false;
  if (!is_blind_) error_ = DeviceDriver::success;
  if (!driver.is_asynchronous()) return;
  const ContextGuard guard(driver, context);
  int error = DeviceDriver::success;
  context_ = DeviceContext::find(driver, context, error);
  if (context_ == nullptr) return check(error);
  stream_ = context_->stream(direction);
}

void DeviceCopies::check(int error) {
  if (error != DeviceDriver::success && error_ == DeviceDriver::success) error_ = error;
}

/// What is under way can no longer be awaited.
void DeviceCopies::lose_sight() {
  is_blind_ = is_blind_ || has_copies_ || !under_way_.empty();
  under_way_.clear();
  ended_ = units_;
  if (context_ != nullptr) context_->lose();
}

void DeviceCopies::begin_unit(const CopiedPart& part) {
  open_ = {.part = part};
}

void DeviceCopies::add(const Copy& copy) {
  if (error_ != DeviceDriver::success || copy.bytes == 0 || copy.rows == 0) return;
  if (observer_ != nullptr && !open_.is_observed) {
    open_.number = observer_->copy_begins(direction_, open_.part);
    open_.is_observed = true;
  }
  open_.bytes += copy.bytes * copy.rows;
  const ContextGuard guard(*driver_, handle_);
  const bool to_host = direction_ == CopyDirection::to_host;
  // Some devices copy no rows that are farther apart.
  constexpr std::size_t most_pitch = (std::size_t{1} << 31) - 1;
  if (copy.rows > 1 && copy.pitch <= most_pitch && driver_->is_asynchronous()) {
    using End = DeviceDriver::Rows::End;
    const End device{.memory_type = End::device, .device_address = copy.device, .pitch = copy.pitch};
    const End host{.memory_type = End::host, .host_address = copy.host, .pitch = copy.pitch};
    const DeviceDriver::Rows rows{.from = to_host ? device : host,
                                  .to = to_host ? host : device,
                                  .width = copy.bytes,
                                  .height = copy.rows};
    check(driver_->rows_later(&rows, stream_));
    has_copies_ = true;
    return;
  }
  for (std::size_t row = 0; row < copy.rows && error_ == DeviceDriver::success; ++row) {
    const DeviceDriver::Address device = copy.device + row * copy.pitch;
    std::byte* const host = copy.host + row * copy.pitch;
    if (driver_->is_asynchronous()) {
      check(to_host ? driver_->to_host_later(host, device, copy.bytes, stream_)
                    : driver_->to_device_later(device, host, copy.bytes, stream_));
      has_copies_ = true;
    } else {
      check(to_host ? driver_->to_host(host, device, copy.bytes)
                    : driver_->to_device_at_once(device, host, copy.bytes));
    }
  }
}

/// Calls attempt(), in the context, until it returns no error, but not often: to know when copies have ended
/// is worth a second look, though the operation has failed by then.
template <typename Attempt>
int DeviceCopies::insist(const Attempt& attempt) {
  constexpr int most_attempts = 3;
  int error = DeviceDriver::success;
  if (DeviceDriver::loaded() == nullptr) {
    check(DeviceDriver::not_initialized);
    return DeviceDriver::not_initialized;  // a child of the process that has the context
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
  ++units_;
  DeviceDriver::Event& event = open_.event;
  if (has_copies_) {
    const int error = insist([&] {
      int status = DeviceDriver::success;
      if (event == nullptr) event = context_->take_event(*driver_, status);
      return event == nullptr ? status : driver_->record(event, stream_);
    });
    if (error != DeviceDriver::success) return lose_sight();
    has_copies_ = false;
  }
  under_way_.push_back(open_);
}

std::size_t DeviceCopies::ended_units() {
  while (!under_way_.empty()) {
    const Unit& unit = under_way_.front();
    DeviceDriver::Event event = unit.event;
    const int status =
        event == nullptr ? DeviceDriver::success : insist([&] { return driver_->query(event); });
    if (status == DeviceDriver::not_ready) break;
    if (status != DeviceDriver::success) {
      lose_sight();
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
