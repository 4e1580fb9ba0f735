// SPDX-License-Identifier: Apache-2.0
#include "engine/device_staging.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "engine/data_runs.hpp"
#include "engine/device_driver.hpp"

namespace stretto {
namespace {

thread_local void* stream_of_thread = nullptr;

/// Whether this thread follows a stream that is not its buffer's default one.
bool follows_other_stream() {
  return stream_of_thread != nullptr && stream_of_thread != DeviceDriver::default_stream();
}

std::string describe(int error, const char* what) {
  return std::string("the CUDA driver could not copy ") + what + " (error " + std::to_string(error) + ")";
}

void require(int status, const char* what) {
  if (status != DeviceDriver::success) throw std::runtime_error(describe(status, what));
}

/// Several runs of one length, at one distance from each other, are one copy of rows.
class RowCollector {
 public:
  explicit RowCollector(DeviceCopies& copies) : copies_(copies) {}
  RowCollector(const RowCollector&) = delete;
  RowCollector& operator=(const RowCollector&) = delete;
  ~RowCollector() { copies_.add(rows_); }

  void add(DeviceDriver::Address device, std::byte* host, std::size_t bytes) {
    if (bytes == 0) return;
    const DeviceDriver::Address last = rows_.device + (rows_.rows - 1) * rows_.pitch;
    if (rows_.bytes > 0 && rows_.rows == 1 && device == last + rows_.bytes) {
      rows_.bytes += bytes;
      return;
    }
    const bool is_behind = rows_.bytes == bytes && device > last;
    if (is_behind && (rows_.rows == 1 || device - last == rows_.pitch)) {
      rows_.pitch = device - last;
      ++rows_.rows;
      return;
    }
    copies_.add(rows_);
    rows_ = {.device = device, .host = host, .bytes = bytes};
  }

 private:
  DeviceCopies& copies_;
  DeviceCopies::Copy rows_;
};

/// Adds copies of runs of bytes from both addresses on.
void add_runs_of_bytes(DeviceCopies& copies, const void* device, std::byte* host,
                       std::span<const Range> runs) {
  RowCollector rows(copies);
  for (const Range& run : runs) rows.add(device_address(device) + run.first, host + run.first, run.count);
}

}  // namespace

bool may_have_device_memory() {
  return DeviceDriver::loaded() != nullptr;
}

bool is_in_device_memory(const void* pointer) {
  const DeviceDriver* driver = DeviceDriver::loaded();
  return driver != nullptr && driver->is_device_memory(pointer);
}

bool is_known_to_driver(const void* pointer) {
  const DeviceDriver* driver = DeviceDriver::loaded();
  return driver != nullptr && driver->knows(pointer);
}

bool concerns_device(const void* input, const void* output) {
  const DeviceDriver* driver = DeviceDriver::loaded();
  return driver != nullptr &&
         (follows_other_stream() || driver->is_device_memory(input) || driver->is_device_memory(output));
}

void copy_anywhere(void* into, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceDriver* driver = DeviceDriver::loaded();
  const bool from_device = is_in_device_memory(from);
  const bool into_device = is_in_device_memory(into);
  if (!from_device && !into_device) {
    std::memcpy(into, from, bytes);
    return;
  }
  // From one device to itself or another: by way of the host.
  PooledBuffer between(from_device && into_device ? bytes : 0);
  void* const host = between.data() != nullptr ? between.data() : into;
  if (from_device) {
    const ContextGuard guard(*driver, driver->context_of(from));
    require(driver->to_host(host, device_address(from), bytes), "from device memory");
  }
  if (into_device) {
    const ContextGuard guard(*driver, driver->context_of(into));
    require(driver->to_device_at_once(device_address(into), from_device ? host : from, bytes),
            "to device memory");
  }
}

void copy_runs_to_device(void* device, PooledBuffer& host, std::span<const Range> runs) {
  const DeviceDriver* driver = DeviceDriver::loaded();
  if (driver == nullptr || runs.empty()) return;
  const DeviceDriver::Context context = driver->context_of(device);
  // As a synchronous copy does, it waits for the default stream, which may still use that memory.
  DeviceOrder order;
  int error = order.follow(*driver, context, DeviceDriver::default_stream());
  while (!order.is_done(*driver, error)) sched_yield();
  require(error, "to device memory");
  DeviceCopies copies;
  copies.begin(*driver, context, CopyDirection::to_device);
  copies.begin_unit({});
  add_runs_of_bytes(copies, device, host.data(), runs);
  copies.end_unit();
  while (!copies.is_idle()) sched_yield();
  if (copies.is_blind()) host.abandon();
  require(copies.error(), "to device memory");
}

void* set_device_stream(void* stream) {
  return std::exchange(stream_of_thread, stream);
}

void* device_stream() {
  return stream_of_thread;
}

int wait_for_device_stream(std::initializer_list<const void*> buffers) {
  const DeviceDriver* driver = stream_of_thread == nullptr ? nullptr : DeviceDriver::loaded();
  if (driver == nullptr) return DeviceDriver::success;
  int error = DeviceDriver::success;
  const auto wait_in = [&](DeviceDriver::Context context) {
    DeviceOrder order;
    if (error == DeviceDriver::success) error = order.follow(*driver, context, stream_of_thread);
    while (error == DeviceDriver::success && !order.is_done(*driver, error)) sched_yield();
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

void DeviceStaging::observe(CopyObserver* observer) {
  for (Side* side : {&input_, &output_}) {
    side->to_host.observe(observer);
    side->to_device.observe(observer);
  }
}

void DeviceStaging::note(Side& side, const void* users, const Range& holds) {
  const auto* first = static_cast<const std::byte*>(users) + element_.offset(holds.count);
  int error = DeviceDriver::success;
  const auto place = holds.count == 0 ? DeviceDriver::Place::host : driver_->place_of(first, error);
  side.is_on_device = place != DeviceDriver::Place::host;
  if (place == DeviceDriver::Place::unknown) {
    is_unknown_ = true;
    order_error_ = error;
  }
  if (!side.is_on_device) return;
  side.users = static_cast<std::byte*>(const_cast<void*>(users));
  side.holds = holds;
  side.context = driver_->context_of(first);
}

void DeviceStaging::note(const Call& call) {
  input_.is_on_device = output_.is_on_device = false;
  order_error_ = DeviceDriver::success;
  is_unknown_ = false;
  driver_ = DeviceDriver::loaded();
  if (driver_ == nullptr) return;
  element_ = call.element;
  in_place_ = call.in_place;
  if (in_place_) {
    // The two are one buffer, as long as the longer of both.
    note(output_, call.output,
         call.input_holds.count > call.output_holds.count ? call.input_holds : call.output_holds);
  } else {
    note(input_, call.input, call.input_holds);
    note(output_, call.output, call.output_holds);
  }
<<<<<<< HEAD
  // A packed call reads the program's device memory when it packs: it, too, comes after a named stream.
  if (is_unknown_ || (!is_staged() && !follows_other_stream())) return;
  const Side& side = input_.is_on_device ? input_ : output_;
  order_error_ = order_.follow(*driver_, side.is_on_device ? side.context : nullptr, stream_of_thread);
=======
  if (!is_unknown_) order_error_ = follow();
}

/// Returns the driver's error.
int DeviceStaging::follow() {
  // A call that is packed reads device memory, too, but not from here. Only its caller knows.
  if (follows_other_stream()) {
    const Side& side = input_.is_on_device ? input_ : output_;
    return input_.order.follow(*driver_, side.is_on_device ? side.context : nullptr, stream_of_thread);
  }
  // Each context has a default stream.
  const bool has_one = input_.is_on_device && output_.is_on_device && input_.context == output_.context;
  int error = DeviceDriver::success;
  if (input_.is_on_device) error = input_.order.follow(*driver_, input_.context, stream_of_thread);
  if (error == DeviceDriver::success && output_.is_on_device && !has_one)
    error = output_.order.follow(*driver_, output_.context, stream_of_thread);
  return error;
>>>>>>> h-a
}

bool DeviceStaging::may_begin() {
  return driver_ == nullptr ||
         (input_.order.is_done(*driver_, order_error_) && output_.order.is_done(*driver_, order_error_));
}

std::byte* DeviceStaging::place(Side& side) {
  const std::size_t bytes = element_.span(side.holds.count);
  if (side.host.bytes() < bytes) side.host = PinnedBuffer(bytes, *driver_, side.context);
  side.to_host.begin(*driver_, side.context, CopyDirection::to_host);
  side.to_device.begin(*driver_, side.context, CopyDirection::to_device);
  return element_.place(side.host.data(), side.holds.count);
}

void DeviceStaging::stage(Call& call, bool by_segments) {
  fetches_ = 0;
  call.staging = nullptr;
  // Errors of the copies of an earlier start are forgotten, unless these may still be under way.
  if (order_error_ != DeviceDriver::success) throw std::runtime_error(describe_error());
  if (!is_staged()) return;
  const bool is_shorter = in_place_ && call.output_holds.count < call.input_holds.count;
  by_segments_ = by_segments && element_.contiguous() && !is_shorter;
  call.staging = this;
  if (input_.is_on_device) call.input = place(input_);
  if (output_.is_on_device) {
    call.output = place(output_);
    if (in_place_) call.input = call.output;
  }
  if (by_segments_) return;
  if (input_.is_on_device) add_whole(input_, input_.to_host);
  if (!output_.is_on_device) return;
  if (in_place_) add_whole(output_, output_.to_host);
  data_.clear();
  if (element_.contiguous()) return;
  const std::size_t count = output_.holds.count;
  add_runs(data_, runs_of_element(element_.datatype), element_.true_lower_bound - element_.offset(count),
           count, element_.extent);
}

void DeviceStaging::add_whole(Side& side, DeviceCopies& copies) {
  const std::size_t count = side.holds.count;
  copies.begin_unit({});
  copies.add({.device = device_address(side.users + element_.offset(count)),
              .host = side.host.data(),
              .bytes = element_.span(count)});
  copies.end_unit();
}

void DeviceStaging::add(const Side& side, DeviceCopies& copies, const CopiedPart& part,
                        std::span<const Range> elements) const {
  copies.begin_unit(part);
  {
    RowCollector rows(copies);
    for (const Range& range : elements) {
      const std::size_t end = std::min(range.first + range.count, side.holds.first + side.holds.count);
      const std::size_t first = std::max(range.first, side.holds.first);
      if (end <= first) continue;
      const std::size_t offset = (first - side.holds.first) * static_cast<std::size_t>(element_.extent);
      rows.add(device_address(side.users + offset), side.host.data() + offset,
               (end - first) * static_cast<std::size_t>(element_.extent));
    }
  }
  copies.end_unit();
}

void DeviceStaging::fetch(const CopiedPart& part, std::span<const Range> elements) {
  ++fetches_;
  Side& side = source();
  if (side.is_on_device) add(side, side.to_host, part, elements);
}

std::size_t DeviceStaging::arrived() {
  if (has_failed()) return std::max(fetches_, std::size_t{1});
  if (!by_segments_) return input_.to_host.is_idle() && output_.to_host.is_idle() ? 1 : 0;
  Side& side = source();
  return side.is_on_device ? side.to_host.ended_units() : fetches_;
}

void DeviceStaging::put_back(const CopiedPart& part, std::span<const Range> elements) {
  if (output_.is_on_device && !has_failed()) add(output_, output_.to_device, part, elements);
}

void DeviceStaging::wait_for_input() {
  while (is_staged() && arrived() == 0) sched_yield();
}

void DeviceStaging::finish() {
  if (!output_.is_on_device || by_segments_ || has_failed()) return;
  if (element_.contiguous()) {
    add_whole(output_, output_.to_device);
  } else {
    finish(data_);
  }
}

void DeviceStaging::finish(std::span<const Range> written) {
  if (!output_.is_on_device || has_failed()) return;
  output_.to_device.begin_unit({});
  add_runs_of_bytes(output_.to_device, output_.users + element_.offset(output_.holds.count),
                    output_.host.data(), written);
  output_.to_device.end_unit();
}

bool DeviceStaging::has_ended() {
  bool all = true;
  for (Side* side : {&input_, &output_}) {
    if (!side->is_on_device) continue;
    all = side->to_host.is_idle() && all;
    all = side->to_device.is_idle() && all;
  }
  return all;
}

bool DeviceStaging::has_failed() const {
  return order_error_ != 0 || input_.to_host.error() != 0 || output_.to_host.error() != 0 ||
         output_.to_device.error() != 0;
}

std::string DeviceStaging::describe_error() const {
  if (is_unknown_) {
    return "a buffer is neither in host memory nor in that of a device that the CUDA driver knows (error " +
           std::to_string(order_error_) + "); it may have been freed";
  }
  if (order_error_ != 0)
    return "the CUDA driver could not wait for a stream (error " + std::to_string(order_error_) + ")";
  if (output_.to_device.error() != 0) return describe(output_.to_device.error(), "to device memory");
  const int error = input_.to_host.error();
  return describe(error != 0 ? error : output_.to_host.error(), "from device memory");
}

void DeviceStaging::abandon() {
  input_.host.abandon();
  output_.host.abandon();
}

DeviceStaging::~DeviceStaging() {
  release();
}

void DeviceStaging::release() {
  if (!has_ended()) abandon();
  for (Side* side : {&input_, &output_}) {
    if (side->to_host.is_blind() || side->to_device.is_blind()) side->host.abandon();
    side->host = {};
  }
}

}  // namespace stretto
