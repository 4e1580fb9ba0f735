// SPDX-License-Identifier: Apache-2.0
#include "engine/execution.hpp"

#include <algorithm>
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
      flights_(pipelining.in_flight()),
      requests_(flights_.size() * width_, mpi.request_null),
      transfers_(requests_.size()),
      completed_(requests_.size()) {
  for (std::size_t i = 0; i < flights_.size(); ++i) {
    flights_[i].first_slot = i * width_;
    flights_[i].scratch_offsets.resize(schedule_.scratch_shape().size() + 1);
  }
}

/// A reduce-scatter in place leaves its result at the beginning of the input, which other segments still
/// read.
int Execution::run_apart(const Call& call) {
  const Element& element = call.element;
  const std::size_t count = call.output_holds.count;
  const PooledBuffer memory(element.span(count));
  Call apart = call;
  apart.output = element.place(memory.data(), count);
  apart.in_place = false;
  const int error = run(apart);
  return error == MPI_SUCCESS ? element.copy(call.output, apart.output, count) : error;
}

int Execution::run(const Call& call) {
  try {
    const bool is_part_of_input = call.output_holds.count < call.input_holds.count;
    const bool is_cut = pipelining_.count(call.count, static_cast<std::size_t>(call.element.size)) > 1;
    if (call.in_place && is_part_of_input && is_cut) return run_apart(call);
    start(call);
    Patience patience;
    while (busy_flights_ > 0 && error_ == MPI_SUCCESS) {
      if (progress()) {
        patience.fruitful();
      } else {
        patience.fruitless();
      }
    }
  } catch (const std::bad_alloc&) {
    check(MPI_ERR_NO_MEM);
  }
  for (Flight& flight : flights_) {
    if (error_ != MPI_SUCCESS) {
      flight.landing.abandon();
      flight.scratch.abandon();
    }
    flight.landing = {};
    flight.scratch = {};
  }
  return error_;
}

void Execution::start(const Call& call) {
  call_ = call;
  segment_count_ = pipelining_.count(call.count, static_cast<std::size_t>(call.element.size));
  next_segment_ = 0;
  busy_flights_ = 0;
  reserve_memory();
  for (Flight& flight : std::span(flights_).first(std::min(flights_.size(), segment_count_))) {
    begin_segment(flight);
    walk(flight);
  }
}

BlockCut Execution::cut(std::size_t segment) const {
  if (!call_.borders.empty()) return {call_.borders, segment, segment_count_};
  return {Partition(call_.count, segment_count_).run(segment), static_cast<std::size_t>(schedule_.blocks())};
}

void Execution::reserve_memory() {
  // The first segment is the longest, block by block.
  const BlockCut longest = cut(0);
  const auto bytes_for = [&](std::size_t elements, std::size_t pieces) {
    return elements * call_.element.distance() +
           pieces * (static_cast<std::size_t>(call_.element.true_extent) + alignment);
  };
  const std::size_t landing = landing_elements(longest);
  std::size_t scratch = 0;
  for (const int like : schedule_.scratch_shape())
    scratch += longest.run(static_cast<std::size_t>(like)).count;
  for (Flight& flight : std::span(flights_).first(std::min(flights_.size(), segment_count_))) {
    if (landing > 0) flight.landing = PooledBuffer(bytes_for(landing, width_));
    if (scratch > 0) flight.scratch = PooledBuffer(bytes_for(scratch, schedule_.scratch_shape().size()));
  }
}

/// What the recv_reduce actions of a round take in at most.
std::size_t Execution::landing_elements(const BlockCut& longest) const {
  const auto blocks = static_cast<std::size_t>(schedule_.most_landing_blocks());
  if (call_.borders.empty() || blocks == 0) return blocks * longest.run(0).count;
  // The caller's blocks may be of any length: a bound by the longest could be p times too large.
  const auto length = [&](const Slice& slice, int index) {
    const int block = slice.first + index;
    const bool own = slice.buffer != Buffer::scratch;
    return longest
        .run(static_cast<std::size_t>(own ? block
                                          : schedule_.scratch_shape()[static_cast<std::size_t>(block)]))
        .count;
  };
  std::size_t most = 0;
  for (int round = 0; round < schedule_.rounds(); ++round) {
    std::size_t elements = 0;
    for (const Action& action : schedule_.round(round)) {
      if (action.kind != Kind::recv_reduce) continue;
      for (int i = 0; i < action.into.count; ++i) elements += length(action.into, i);
    }
    most = std::max(most, elements);
  }
  return most;
}

void Execution::begin_segment(Flight& flight) {
  flight.busy = next_segment_ < segment_count_;
  if (!flight.busy) return;
  ++busy_flights_;
  flight.tag = static_cast<int>(next_segment_ % tag_count);
  flight.blocks = cut(next_segment_++);
  flight.round = 0;
  place_scratch(flight);
}

void Execution::place_scratch(Flight& flight) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i + 1 < flight.scratch_offsets.size(); ++i) {
    flight.scratch_offsets[i] = offset;
    offset += flight.blocks.run(static_cast<std::size_t>(schedule_.scratch_shape()[i])).count;
  }
  flight.scratch_offsets.back() = offset;
}

/// Takes a flight as far as it gets without waiting: through the rounds of its segment, and into the next
/// segments.
void Execution::walk(Flight& flight) {
  while (flight.busy && error_ == MPI_SUCCESS) {
    if (flight.round == schedule_.rounds()) {
      --busy_flights_;
      begin_segment(flight);
      continue;
    }
    post_round(flight);
    if (flight.posted > 0) return;
    ++flight.round;
  }
}

void Execution::post_round(Flight& flight) {
  const auto round = schedule_.round(flight.round);
  flight.posted = 0;
  flight.landing_used = 0;
  // Receives first, so that no message of this rank's partners finds nothing posted because of its own sends.
  for (std::size_t i = 0; i < round.size(); ++i) {
    if (round[i].receives()) post(flight, round[i], i);
  }
  for (std::size_t i = 0; i < round.size(); ++i) {
    if (round[i].kind == Kind::send) post(flight, round[i], i);
    if (!round[i].communicates()) compute(flight, round[i]);
  }
}

void Execution::post(Flight& flight, const Action& action, std::size_t slot) {
  const bool sends = action.kind == Kind::send;
  const std::size_t count = elements_in(flight, sends ? action.left : action.into);
  if (count == 0) return;  // the partner knows it too

  Transfer& transfer = transfers_[flight.first_slot + slot];
  MPI_Request& request = requests_[flight.first_slot + slot];
  transfer = {.action = &action, .count = count};
  const int elements = static_cast<int>(count);
  if (sends) {
    check(mpi.Isend(address(flight, action.left), elements, call_.element.datatype, action.peer, flight.tag,
                    comm_, &request));
  } else {
    std::byte* into = nullptr;
    if (action.kind == Kind::recv_reduce) {
      into = call_.element.place(flight.landing.data() + flight.landing_used, count);
      flight.landing_used += round_up(call_.element.span(count));
      transfer.landing = into;
    } else {
      into = address(flight, action.into);
    }
    check(mpi.Irecv(into, elements, call_.element.datatype, action.peer, flight.tag, comm_, &request));
  }
  ++flight.posted;
}

bool Execution::progress() {
  const std::size_t active = std::min(flights_.size(), segment_count_) * width_;
  int done = 0;
  check(mpi.Testsome(static_cast<int>(active), requests_.data(), &done, completed_.data(),
                     MPI_STATUSES_IGNORE));
  if (done == MPI_UNDEFINED) done = 0;
  for (int i = 0; i < done && error_ == MPI_SUCCESS; ++i) {
    const auto slot = static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]);
    finish(flights_[slot / width_], transfers_[slot]);
  }
  return done > 0;
}

void Execution::finish(Flight& flight, const Transfer& transfer) {
  const Action& action = *transfer.action;
  if (action.kind == Kind::recv_reduce) {
    check(call_.element.reduce_arrived(address(flight, action.into), transfer.landing,
                                       action.arriving == Side::left, address(flight, action.with()),
                                       transfer.count));
  }
  if (--flight.posted == 0) {
    ++flight.round;
    walk(flight);
  }
}

void Execution::compute(const Flight& flight, const Action& action) {
  const std::size_t count = elements_in(flight, action.into);
  std::byte* into = address(flight, action.into);
  if (action.kind == Kind::copy) {
    check(call_.element.copy(into, address(flight, action.left), count));
  } else {
    check(call_.element.reduce(into, address(flight, action.left), address(flight, action.right), count));
  }
}

std::size_t Execution::elements_in(const Flight& flight, const Slice& slice) const {
  const auto first = static_cast<std::size_t>(slice.first);
  const auto count = static_cast<std::size_t>(slice.count);
  if (slice.buffer != Buffer::scratch) return flight.blocks.run(first, count).count;
  return flight.scratch_offsets[first + count] - flight.scratch_offsets[first];
}

std::byte* Execution::address(const Flight& flight, const Slice& slice) const {
  const Element& element = call_.element;
  const auto first = static_cast<std::size_t>(slice.first);
  if (slice.buffer == Buffer::scratch) {
    return element.place(flight.scratch.data(), flight.scratch_offsets.back()) +
           static_cast<std::ptrdiff_t>(flight.scratch_offsets[first]) * element.extent;
  }
  const bool is_output = slice.buffer == Buffer::output;
  const std::size_t held = (is_output ? call_.output_holds : call_.input_holds).first;
  const std::size_t element_number = flight.blocks.run(first).first - held;
  // Nothing is ever written to the input (proven), so that one function may serve both.
  auto* base = static_cast<std::byte*>(is_output ? call_.output : const_cast<void*>(call_.input));
  return base + static_cast<std::ptrdiff_t>(element_number) * element.extent;
}

}  // namespace stretto
