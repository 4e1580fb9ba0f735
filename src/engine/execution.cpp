// SPDX-License-Identifier: Apache-2.0
#include "engine/execution.hpp"

#include <new>
#include <span>
#include <utility>

#include "engine/patience.hpp"

namespace stretto {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t round_up(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Segments in flight have different tags; MPI promises 32767 at least. A tag comes back only 32768 segments
/// later, and messages of one pair and tag match in order, so neither that nor the next call can mix anything
/// up.
constexpr std::size_t tag_count = 32768;

}  // namespace

Execution::Execution(MPI_Comm comm, Schedule schedule, const Pipelining& pipelining)
    : comm_(comm),
      schedule_(std::move(schedule)),
      pipelining_(pipelining),
      width_(static_cast<std::size_t>(schedule_.widest_round())),
      lanes_(pipelining.lanes()),
      requests_(lanes_.size() * width_, mpi.request_null),
      transfers_(requests_.size()),
      completed_(requests_.size()) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i].first_slot = i * width_;
    lanes_[i].scratch_offsets.resize(schedule_.scratch_shape().size());
  }
}

int Execution::run(const Call& call) {
  try {
    start(call);
    Patience patience;
    while (busy_lanes_ > 0 && error_ == MPI_SUCCESS) {
      if (progress()) {
        patience.fruitful();
      } else {
        patience.fruitless();
      }
    }
  } catch (const std::bad_alloc&) {
    check(MPI_ERR_NO_MEM);
  }
  for (Lane& lane : lanes_) {
    if (error_ != MPI_SUCCESS) {
      lane.landing.abandon();
      lane.scratch.abandon();
    }
    lane.landing = {};
    lane.scratch = {};
  }
  return error_;
}

void Execution::start(const Call& call) {
  call_ = call;
  segment_count_ = pipelining_.count(call.count, static_cast<std::size_t>(call.element.size));
  segments_ = Partition(call.count, segment_count_);
  next_segment_ = 0;
  busy_lanes_ = 0;

  const std::size_t block =
      Partition(segments_.longest(), static_cast<std::size_t>(schedule_.blocks())).longest();
  const auto bytes_for = [&](std::size_t blocks, std::size_t pieces) {
    return blocks * block * call_.element.distance() +
           pieces * (static_cast<std::size_t>(call_.element.true_extent) + alignment);
  };
  const auto landing_blocks = static_cast<std::size_t>(schedule_.most_landing_blocks());
  const std::size_t scratch_blocks = schedule_.scratch_shape().size();
  const auto used = std::span(lanes_).first(std::min(lanes_.size(), segment_count_));
  for (Lane& lane : used) {
    if (landing_blocks > 0) lane.landing = PooledBuffer(bytes_for(landing_blocks, width_));
    if (scratch_blocks > 0) lane.scratch = PooledBuffer(bytes_for(scratch_blocks, scratch_blocks));
  }
  for (Lane& lane : used) {
    begin_segment(lane);
    walk(lane);
  }
}

void Execution::begin_segment(Lane& lane) {
  lane.busy = next_segment_ < segment_count_;
  if (!lane.busy) return;
  ++busy_lanes_;
  lane.tag = static_cast<int>(next_segment_ % tag_count);
  lane.elements = segments_.run(next_segment_++);
  lane.blocks = Partition(lane.elements.count, static_cast<std::size_t>(schedule_.blocks()));
  lane.round = 0;
  place_scratch(lane);
}

void Execution::place_scratch(Lane& lane) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < lane.scratch_offsets.size(); ++i) {
    lane.scratch_offsets[i] = offset;
    const auto like = static_cast<std::size_t>(schedule_.scratch_shape()[i]);
    offset += lane.blocks.run(like).count;
  }
  lane.scratch_elements = offset;
}

/// Takes a lane as far as it gets without waiting: through the rounds of its segment, and into the next
/// segments.
void Execution::walk(Lane& lane) {
  while (lane.busy && error_ == MPI_SUCCESS) {
    if (lane.round == schedule_.rounds()) {
      --busy_lanes_;
      begin_segment(lane);
      continue;
    }
    post_round(lane);
    if (lane.posted > 0) return;
    ++lane.round;
  }
}

void Execution::post_round(Lane& lane) {
  const auto round = schedule_.round(lane.round);
  lane.posted = 0;
  lane.landing_used = 0;
  // Receives first, so that no message of this rank's partners finds nothing posted because of its own sends.
  for (std::size_t i = 0; i < round.size(); ++i) {
    if (round[i].receives()) post(lane, round[i], i);
  }
  for (std::size_t i = 0; i < round.size(); ++i) {
    if (round[i].kind == Kind::send) post(lane, round[i], i);
    if (!round[i].communicates()) compute(lane, round[i]);
  }
}

void Execution::post(Lane& lane, const Action& action, std::size_t slot) {
  const bool sends = action.kind == Kind::send;
  const std::size_t count = elements_in(lane, sends ? action.left : action.into);
  if (count == 0) return;  // the partner knows it too

  Transfer& transfer = transfers_[lane.first_slot + slot];
  MPI_Request& request = requests_[lane.first_slot + slot];
  transfer = {.action = &action, .count = count};
  const int elements = static_cast<int>(count);
  if (sends) {
    check(mpi.Isend(address(lane, action.left), elements, call_.element.datatype, action.peer, lane.tag,
                    comm_, &request));
  } else {
    std::byte* into = nullptr;
    if (action.kind == Kind::recv_reduce) {
      into = call_.element.place(lane.landing.data() + lane.landing_used, count);
      lane.landing_used += round_up(call_.element.span(count));
      transfer.landing = into;
    } else {
      into = address(lane, action.into);
    }
    check(mpi.Irecv(into, elements, call_.element.datatype, action.peer, lane.tag, comm_, &request));
  }
  ++lane.posted;
}

bool Execution::progress() {
  const std::size_t active = std::min(lanes_.size(), segment_count_) * width_;
  int done = 0;
  check(mpi.Testsome(static_cast<int>(active), requests_.data(), &done, completed_.data(),
                     MPI_STATUSES_IGNORE));
  if (done == MPI_UNDEFINED) done = 0;
  for (int i = 0; i < done && error_ == MPI_SUCCESS; ++i) {
    const auto slot = static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]);
    finish(lanes_[slot / width_], transfers_[slot]);
  }
  return done > 0;
}

void Execution::finish(Lane& lane, const Transfer& transfer) {
  const Action& action = *transfer.action;
  if (action.kind == Kind::recv_reduce) {
    check(call_.element.reduce_arrived(address(lane, action.into), transfer.landing,
                                       action.arriving == Side::left, address(lane, action.with()),
                                       transfer.count));
  }
  if (--lane.posted == 0) {
    ++lane.round;
    walk(lane);
  }
}

void Execution::compute(const Lane& lane, const Action& action) {
  const std::size_t count = elements_in(lane, action.into);
  std::byte* into = address(lane, action.into);
  if (action.kind == Kind::copy) {
    check(call_.element.copy(into, address(lane, action.left), count));
  } else {
    check(call_.element.reduce(into, address(lane, action.left), address(lane, action.right), count));
  }
}

std::size_t Execution::elements_in(const Lane& lane, const Slice& slice) const {
  if (slice.buffer != Buffer::scratch) {
    return lane.blocks.run(static_cast<std::size_t>(slice.first), static_cast<std::size_t>(slice.count))
        .count;
  }
  std::size_t count = 0;
  for (int i = 0; i < slice.count; ++i) {
    const int like = schedule_.scratch_shape()[static_cast<std::size_t>(slice.first + i)];
    count += lane.blocks.run(static_cast<std::size_t>(like)).count;
  }
  return count;
}

std::byte* Execution::address(const Lane& lane, const Slice& slice) const {
  const Element& element = call_.element;
  const auto first = static_cast<std::size_t>(slice.first);
  if (slice.buffer == Buffer::scratch) {
    return element.place(lane.scratch.data(), lane.scratch_elements) +
           static_cast<std::ptrdiff_t>(lane.scratch_offsets[first]) * element.extent;
  }
  const std::size_t offset = lane.elements.first + lane.blocks.begin(first);
  // Nothing is ever written to the input (proven), so that one function may serve both.
  auto* base =
      static_cast<std::byte*>(slice.buffer == Buffer::output ? call_.output : const_cast<void*>(call_.input));
  return base + static_cast<std::ptrdiff_t>(offset) * element.extent;
}

}  // namespace stretto
