// SPDX-License-Identifier: Apache-2.0
#include "engine/staging/device_staging.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/device/device_driver.hpp"
#include "engine/device/device_memory.hpp"
#include "engine/packing/data_runs.hpp"

namespace stretto {

void DeviceStaging::observe(CopyObserver* observer) {
  for (Side* side : {&input_, &output_}) {
    side->to_host.observe(observer);
    side->to_device.observe(observer);
  }
}

void DeviceStaging::note(Side& side, const void* users, const Range& holds) {
  const auto* first = static_cast<const std::byte*>(users) + element_.offset(holds.count);
  int error = DeviceDriver::success;
  const auto kind = holds.count == 0 ? DeviceDriver::MemoryKind::host : driver_->kind_of(first, error);
  side.is_on_device = kind != DeviceDriver::MemoryKind::host;
  if (kind == DeviceDriver::MemoryKind::unknown) {
    is_unknown_ = true;
    begin_error_ = error;
  }
  if (!side.is_on_device) return;
  side.users = static_cast<std::byte*>(const_cast<void*>(users));
  side.holds = holds;
  side.context = driver_->context_of(first);
}

void DeviceStaging::note(const Call& call) {
  input_.is_on_device = output_.is_on_device = false;
  begin_error_ = DeviceDriver::success;
  is_unknown_ = false;
  driver_ = DeviceDriver::loaded();
  if (driver_ == nullptr) return;
  element_ = call.element;
  in_place_ = call.in_place;
  if (in_place_) {
    // The two are one buffer, which is as long as the longer of them.
    note(output_, call.output,
         call.input_holds.count > call.output_holds.count ? call.input_holds : call.output_holds);
  } else {
    note(input_, call.input, call.input_holds);
    note(output_, call.output, call.output_holds);
  }
  if (!is_unknown_) begin_error_ = record_events();
}

/// Returns the driver's error.
int DeviceStaging::record_events() {
  // A packed call reads the program's device memory when it packs, so it, too, comes after a named stream.
  if (follows_other_stream()) {
    const Side& side = input_.is_on_device ? input_ : output_;
    return input_.before.record(*driver_, side.is_on_device ? side.context : nullptr, device_stream());
  }
  // Each context has a default stream.
  const bool has_one = input_.is_on_device && output_.is_on_device && input_.context == output_.context;
  int error = DeviceDriver::success;
  if (input_.is_on_device) error = input_.before.record(*driver_, input_.context, device_stream());
  if (error == DeviceDriver::success && output_.is_on_device && !has_one)
    error = output_.before.record(*driver_, output_.context, device_stream());
  return error;
}

bool DeviceStaging::may_begin() {
  return driver_ == nullptr ||
         (input_.before.has_come(*driver_, begin_error_) && output_.before.has_come(*driver_, begin_error_));
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
  if (begin_error_ != DeviceDriver::success) throw std::runtime_error(describe_error());
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
  copies.add(device_address(side.users + element_.offset(count)), side.host.data(), element_.span(count));
  copies.end_unit();
}

void DeviceStaging::add(const Side& side, DeviceCopies& copies, const CopiedPart& part,
                        std::span<const Range> elements) const {
  copies.begin_unit(part);
  for (const Range& range : elements) {
    const std::size_t end = std::min(range.first + range.count, side.holds.first + side.holds.count);
    const std::size_t first = std::max(range.first, side.holds.first);
    if (end <= first) continue;
    const std::size_t offset = (first - side.holds.first) * static_cast<std::size_t>(element_.extent);
    copies.add(device_address(side.users + offset), side.host.data() + offset,
               (end - first) * static_cast<std::size_t>(element_.extent));
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
  output_.to_device.add_runs(output_.users + element_.offset(output_.holds.count), output_.host.data(),
                             written);
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
  return begin_error_ != 0 || input_.to_host.error() != 0 || output_.to_host.error() != 0 ||
         output_.to_device.error() != 0;
}

std::string DeviceStaging::describe_error() const {
  if (is_unknown_) {
    return "a buffer is neither in host memory nor in that of a device that the CUDA driver knows (error " +
           std::to_string(begin_error_) + "); it may have been freed";
  }
  if (begin_error_ != 0)
    return "the CUDA driver could not wait for a stream (error " + std::to_string(begin_error_) + ")";
  if (output_.to_device.error() != 0)
    return describe_copy_error(output_.to_device.error(), "to device memory");
  const int error = input_.to_host.error();
  return describe_copy_error(error != 0 ? error : output_.to_host.error(), "from device memory");
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
    if (side->to_host.may_still_run() || side->to_device.may_still_run()) side->host.abandon();
    side->host = {};
  }
}

}  // namespace stretto
