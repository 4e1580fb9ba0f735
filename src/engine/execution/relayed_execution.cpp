// SPDX-License-Identifier: Apache-2.0
#include "engine/execution/relayed_execution.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace stretto {
namespace {

/// A length that did not arrive. It travels on like others, and then counts as 0.
constexpr std::size_t unknown = std::numeric_limits<std::size_t>::max();

std::size_t length_of(std::span<const std::size_t> borders, std::size_t block) {
  return borders[block + 1] - borders[block];
}

}  // namespace

RelayedExecution::RelayedExecution(std::unique_ptr<Transport> transport, Peers peers, Schedule schedule,
                                   SharedNeighbours neighbours)
    : blocks_(static_cast<std::size_t>(schedule.blocks())),
      scratch_blocks_(schedule.scratch_shape().size()),
      walk_(std::move(transport), std::move(peers), std::move(schedule), {}, Keep::nothing,
            std::move(neighbours)) {}

void RelayedExecution::start(const Call& call, const CallResources& resources) {
  begin(call, resources);
  go_on();
}

void RelayedExecution::start_failed(const Call& call, const CallResources& resources, int error) {
  begin(call, resources);
  check(error);
  go_on();
}

/// Begins the walk of lengths.
void RelayedExecution::begin(const Call& call, const CallResources& resources) {
  call_ = call;
  resources_ = resources;
  forget_error();
  lengths_ = PooledBuffer((3 * blocks_ + 1 + scratch_blocks_) * sizeof(std::size_t));
  auto* next = reinterpret_cast<std::size_t*>(lengths_.data());
  const auto take = [&](std::size_t count) { return std::span(std::exchange(next, next + count), count); };
  sent_ = take(blocks_);
  arrived_ = take(blocks_);
  passing_ = take(scratch_blocks_);
  borders_ = take(blocks_ + 1);
  for (std::size_t block = 0; block < blocks_; ++block) {
    sent_[block] = length_of(call.borders, block);
    arrived_[block] = length_of(call.output_borders, block);  // nothing arrives for blocks of other ranks
  }
  std::ranges::fill(passing_, unknown);

  Call lengths = Call::whole(sent_.data(), arrived_.data(), blocks_ * sizeof(std::size_t), byte_element());
  lengths.walk = Walk::of_lengths;
  lengths.scratch_lengths = passing_;
  lengths.root = call.root;
  segments_.to = observer_;
  segments_.walk = 0;
  walk_.observe(observer_ == nullptr ? nullptr : &segments_);
  walk_.start(lengths, resources);
  is_under_way_ = true;
}

bool RelayedExecution::progress() {
  if (ended()) return false;
  const bool any = walk_.progress();
  go_on();
  return any;
}

void RelayedExecution::go_on() {
  for (;;) {
    check(walk_.error());
    if (!wrong_length_) wrong_length_ = walk_.wrong_length();
    if (walk_.gave_up()) return abandon();
    if (!walk_.ended()) return;
    if (segments_.walk == 1) return end();
    begin_data();
  }
}

void RelayedExecution::begin_data() {
  read_lengths();
  segments_.walk = 1;
  Call data = call_;
  data.walk = Walk::by_lengths;
  data.scratch_lengths = passing_;
  data.output_borders = borders_;
  if (error() == MPI_SUCCESS) {
    try {
      if (!is_as_expected()) put_apart(data);
      return walk_.start(data, resources_);
    } catch (const std::bad_alloc&) {
      check(mpi.err_no_mem);  // others still wait for messages of this rank
    }
  }
  walk_.start_failed(data, resources_, error());
}

void RelayedExecution::read_lengths() {
  std::ranges::replace(passing_, unknown, std::size_t{0});
  std::size_t border = 0;
  for (std::size_t block = 0; block < blocks_; ++block) {
    if (std::exchange(arrived_[block], arrived_[block] == unknown ? 0 : arrived_[block]) == unknown)
      check(mpi.err_other);
    borders_[block] = border;
    border += arrived_[block];
  }
  borders_.back() = border;
}

bool RelayedExecution::is_as_expected() const {
  for (std::size_t block = 0; block < blocks_; ++block) {
    if (arrived_[block] != length_of(call_.output_borders, block)) return false;
  }
  return true;
}

void RelayedExecution::put_apart(Call& data) {
  const std::size_t all = borders_.back();
  apart_ = PooledBuffer(call_.element.span(all));
  data.output = call_.element.place(apart_.data(), all);
  data.output_holds = {0, all};
  data.in_place = false;
}

void RelayedExecution::end() {
  if (apart_.data() != nullptr && error() == MPI_SUCCESS) copy_to_output();
  is_under_way_ = false;
  lengths_ = {};
  apart_ = {};
}

void RelayedExecution::copy_to_output() {
  const Element& element = call_.element;
  const Range held = call_.output_holds;
  const auto moved = [&](void* base, std::size_t elements) {
    return static_cast<std::byte*>(base) + static_cast<std::ptrdiff_t>(elements) * element.extent;
  };
  for (std::size_t block = 0; block < blocks_; ++block) {
    const std::size_t begin = call_.output_borders[block];
    const std::size_t room = length_of(call_.output_borders, block);
    if (begin < held.first || begin + room > held.first + held.count) continue;
    if (arrived_[block] > room) check(mpi.err_truncate);
    const std::byte* const from = moved(element.place(apart_.data(), borders_.back()), borders_[block]);
    check(element.copy(moved(call_.output, begin - held.first), from, std::min(arrived_[block], room)));
  }
}

void RelayedExecution::give_up() {
  if (ended()) return;
  walk_.give_up();
  abandon();
}

/// Keeps all memory of the call where MPI may still write to it.
void RelayedExecution::abandon() {
  gave_up_ = true;
  lost_peer_ = walk_.lost_peer();
  if (!leaves_memory()) return;
  lengths_.abandon();
  apart_.abandon();
}

std::vector<SegmentState> RelayedExecution::segment_states() const {
  std::vector<SegmentState> states = walk_.segment_states();
  for (SegmentState& state : states) state.segment = segments_.walk;
  return states;
}

}  // namespace stretto
