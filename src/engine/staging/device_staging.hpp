// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/data/call.hpp"
#include "engine/data/segment_copies.hpp"
#include "engine/device/device_copies.hpp"
#include "engine/device/device_stream.hpp"
#include "engine/device/pinned_buffer.hpp"

namespace stretto {

/// Stages the buffers of a call that are in device (GPU) memory through pinned host memory, by copies of the
/// CUDA driver. The driver is used only if the process has already loaded it. Ranks may differ in where their
/// buffers are, so staging never affects the choice of an algorithm: each rank stages for itself.
///
/// The functions are called in this order for each call: note(); may_begin() until it may; stage(); fetch()
/// and put_back() by segments, or finish(); has_ended() until it has; then release(), or note() for the next
/// call.
///
/// Elements without gaps go by segments: a segment is fetched, travels, and is put back while others do.
/// Other calls are fetched as a whole and put back as a whole: elements with gaps, of which only the data go
/// back, since the gaps do not belong to the call; blocks of private lengths that are relayed; a result that
/// lies in place at the beginning of a longer input.
class DeviceStaging final : public SegmentCopies {
 public:
  DeviceStaging() = default;
  DeviceStaging(const DeviceStaging&) = delete;
  DeviceStaging& operator=(const DeviceStaging&) = delete;
  ~DeviceStaging() override;

  /// Sets the observer of the copies; nullptr: they are not observed.
  void observe(CopyObserver* observer);

  /// To be called in the thread that makes the call, when it is made. Finds the call's device buffers, and
  /// begins to wait for what the program has asked the device to do.
  void note(const Call& call);
  /// Whether the call may begin. Does not wait.
  bool may_begin();

  /// Replaces device buffers of `call` by host buffers, the same ones for the same call. Without
  /// `by_segments`, or if the call cannot go by segments, the input is under way when this returns. Throws
  /// std::bad_alloc, and std::runtime_error if the device's earlier work cannot be awaited.
  void stage(Call& call, bool by_segments);
  /// Says that the call is not staged after all.
  void use_program_buffers() { input_.is_on_device = output_.is_on_device = false; }
  /// To be called when the execution has ended without an error.
  void finish();
  /// Does the same if only these runs of bytes were written, counted from the output's first byte on.
  void finish(std::span<const Range> written);
  /// Whether no copy is under way any more. Does not wait.
  bool has_ended();

  [[nodiscard]] bool is_staged() const { return input_.is_on_device || output_.is_on_device; }
  [[nodiscard]] bool has_failed() const override;
  /// Returns a text about what failed.
  [[nodiscard]] std::string describe_error() const;

  /// Gives up the host buffers, since copies or transfers may still use them.
  void abandon();
  /// Gives the host buffers back, unless copies may still use them.
  void release();

  [[nodiscard]] bool goes_by_segments() const override { return by_segments_; }
  void fetch(const CopiedPart& part, std::span<const Range> elements) override;
  std::size_t arrived() override;
  void put_back(const CopiedPart& part, std::span<const Range> elements) override;

 private:
  /// A buffer of the program in device memory, and its place in host memory.
  struct Side {
    bool is_on_device = false;
    std::byte* users = nullptr;  // as MPI gets it
    Range holds;
    DeviceDriver::Context context = nullptr;
    StreamEvent before;  // what the program has asked the device to do before
    PinnedBuffer host;
    DeviceCopies to_host;
    DeviceCopies to_device;
  };

  void note(Side& side, const void* users, const Range& holds);
  int record_events();
  std::byte* place(Side& side);
  void add(const Side& side, DeviceCopies& copies, const CopiedPart& part,
           std::span<const Range> elements) const;
  void add_whole(Side& side, DeviceCopies& copies);
  [[nodiscard]] Side& source() { return in_place_ ? output_ : input_; }

  const DeviceDriver* driver_ = nullptr;
  Element element_;
  bool in_place_ = false;
  bool by_segments_ = false;
  std::size_t fetches_ = 0;
  int begin_error_ = 0;
  bool is_unknown_ = false;  // whether it is unknown where a buffer is
  std::vector<Range> data_;  // runs in an output whose elements have gaps, from its first byte on
  Side input_;               // not used in place
  Side output_;
};

}  // namespace stretto
