// SPDX-License-Identifier: Apache-2.0
#include "engine/execution/schedule_execution.hpp"

#include <algorithm>
#include <climits>
#include <span>
#include <utility>

namespace stretto {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t round_up(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Whether some other rank gets several messages from this one in a round, or sends it several.
bool has_several_messages_of_a_pair(std::span<const Action> round) {
  std::vector<std::pair<int, bool>> messages;
  for (const Action& action : round) {
    if (action.communicates()) messages.emplace_back(action.peer, action.kind == Kind::send);
  }
  std::ranges::sort(messages);
  return std::ranges::adjacent_find(messages) != messages.end();
}

}  // namespace

ScheduleExecution::ScheduleExecution(std::unique_ptr<Transport> transport, Peers peers, Schedule schedule,
                                     const Pipelining& pipelining, Keep keep, SharedNeighbours neighbours)
    : peers_(std::move(peers)),
      schedule_(std::move(schedule)),
      pipelining_(pipelining),
      keep_(keep),
      neighbours_(std::move(neighbours)),
      width_(static_cast<std::size_t>(schedule_.widest_round())),
      messages_(std::move(transport)) {
  if (!neighbours_) return;
  for (int index = 0; index < schedule_.rounds(); ++index) {
    const auto round = schedule_.round(index);
    has_several_of_a_pair_.push_back(has_several_messages_of_a_pair(round));
    messages_in_round_.push_back(
        static_cast<std::uint32_t>(std::ranges::count_if(round, &Action::communicates)));
  }
}

std::size_t ScheduleExecution::segments_of(const Call& call) const {
  return pipelining_.count(call.count, static_cast<std::size_t>(call.element.size));
}

std::size_t ScheduleExecution::tags(const Call& call) const {
  return std::min(pipelining_.in_flight(), segments_of(call));
}

inline void ScheduleExecution::begin_walks() {
  busy_flights_ = in_flight_;
  for (Flight& flight : std::span(flights_).first(in_flight_)) {
    begin_segment(flight, flight.index);
    walk(flight);
  }
  if (ended()) end();
}

void ScheduleExecution::start(const Call& call, const CallResources& resources) {
  prepare(call, resources);
  reserve_memory();
  has_memory_ = true;
  staged_.begin(call_, schedule_, segment_count_);
  // If no message is posted, nothing else tells whether messages can have such elements.
  const Element& element = call_.element;
  if (uses_shared_memory() && element.kernel == nullptr && element.datatype != mpi.byte && call_.count > 0)
    check(messages_.check(element));
  begin_walks();
  const std::size_t bytes = call_.count * static_cast<std::size_t>(call_.element.size);
  if (uses_shared_memory() && messages_.count() == 0 && idle_polls_.count_call(bytes)) messages_.drive();
}

bool ScheduleExecution::uses_shared_memory() const {
  return neighbours_ && may_cross_memory(call_.element);
}

void ScheduleExecution::start_failed(const Call& call, const CallResources& resources, int error) {
  prepare(call, resources);
  call_.staging = nullptr;
  staged_.begin(call_, schedule_, segment_count_);
  has_memory_ = false;
  output_ = nullptr;
  check(error);
  begin_walks();
}

void ScheduleExecution::prepare(const Call& call, const CallResources& resources) {
  suspects_ = false;
  call_ = call;
  resources_ = resources;
  segment_count_ = segments_of(call);
  in_flight_ = tags(call);
  messages_.begin(in_flight_ * width_, call_.element, resources.connections_from);
  reserve_places();
  for (Flight& flight : std::span(flights_).first(in_flight_)) {
    flight.lane = uses_shared_memory() ? resources.lane(flight.index) : CallResources::none;
    flight.in_memory = 0;
    flight.awaits_copy = false;
  }
  forget_error();
}

void ScheduleExecution::end() {
  if (output_ != nullptr && !has_failed()) {
    check(call_.element.copy(output_, call_.output, call_.output_holds.count));
  }
  release_memory();
}

void ScheduleExecution::give_up() {
  if (ended()) return;
  gave_up_ = true;
  messages_.take_back();
  release_memory();
}

BlockCut ScheduleExecution::cut(std::size_t segment) const {
  return call_.cut(segment, segment_count_, static_cast<std::size_t>(schedule_.blocks()));
}

void ScheduleExecution::reserve_places() {
  while (flights_.size() < in_flight_) {
    flights_.emplace_back();
    flights_.back().index = flights_.size() - 1;
    flights_.back().first_slot = flights_.back().index * width_;
  }
  transfers_.resize(std::max(transfers_.size(), in_flight_ * width_));
}

void ScheduleExecution::reserve_memory() {
  // The first segment is the longest, block by block.
  const BlockCut longest = cut(0);
  const Element& element = call_.element;
  const auto bytes_for = [&](std::size_t elements, std::size_t pieces) {
    return elements * element.distance() +
           pieces * (static_cast<std::size_t>(element.true_extent) + alignment);
  };
  const std::size_t landing = lands_messages() ? landing_elements(longest) : 0;
  std::size_t scratch = 0;
  if (call_.walk != Walk::of_lengths) {
    // Each flight finds its own places later; a repeated call allocates nothing.
    place_scratch(flights_.front().places, longest);
    scratch = flights_.front().places.end();
  }
  for (Flight& flight : std::span(flights_).first(in_flight_)) {
    if (landing > 0 && flight.landing.data() == nullptr) {
      flight.landing = PooledBuffer(bytes_for(landing, width_));
    }
    if (scratch > 0 && flight.scratch.data() == nullptr) {
      flight.scratch = PooledBuffer(element.span(scratch));
    }
  }
  // A reduce-scatter in place puts its result at the beginning of the input, which other segments still
  // read.
  const std::size_t result = call_.output_holds.count;
  output_ = nullptr;
  if (call_.in_place && result < call_.input_holds.count && segment_count_ > 1) {
    if (apart_.data() == nullptr) apart_ = PooledBuffer(element.span(result));
    output_ = std::exchange(call_.output, element.place(apart_.data(), result));
    call_.in_place = false;
  }
  const std::size_t messages = segment_count_ * schedule_.actions().size();
  if (keep_ == Keep::requests) messages_.keep(messages);
}

void ScheduleExecution::release_memory() {
  if (keep_ == Keep::requests && !gave_up_) return;
  for (Flight& flight : flights_) {
    if (leaves_memory()) {
      flight.landing.abandon();
      flight.scratch.abandon();
    }
    flight.landing = {};
    flight.scratch = {};
  }
  if (leaves_memory()) apart_.abandon();
  apart_ = {};
}

/// Whether operands may arrive by MPI.
bool ScheduleExecution::lands_messages() const {
  const auto flights = std::span(flights_).first(in_flight_);
  return std::ranges::any_of(flights, [](const Flight& one) { return one.lane == CallResources::none; }) ||
         std::ranges::any_of(schedule_.actions(), [&](const Action& action) {
           return action.kind == Kind::recv_reduce && place_of(action) == Neighbours::none;
         });
}

/// Returns the most elements that the recv_reduce actions of a round receive.
std::size_t ScheduleExecution::landing_elements(const BlockCut& longest) const {
  const auto blocks = static_cast<std::size_t>(schedule_.most_landing_blocks());
  if (call_.borders.empty() || blocks == 0) return blocks * longest.run(0).count;
  // The caller's blocks may have any length: a bound from the longest one could be p times too large.
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

/// Whether a flight may begin its next round.
bool ScheduleExecution::has_what_it_reads(Flight& flight) {
  flight.awaits_copy = !is_silent() && !staged_.has_arrived(flight.segment, flight.round);
  if (staged_.has_failed()) check(mpi.err_other);
  return !flight.awaits_copy;
}

bool ScheduleExecution::advance_copies() {
  bool any = false;
  for (Flight& flight : std::span(flights_).first(in_flight_)) {
    if (!flight.awaits_copy || !has_what_it_reads(flight)) continue;
    any = true;
    if (observer_ != nullptr) observer_->input_arrives(flight.index);
    walk(flight);
  }
  return any;
}

void ScheduleExecution::begin_segment(Flight& flight, std::size_t segment) {
  flight.segment = segment;
  flight.blocks = cut(segment);
  flight.output_blocks = call_.output_borders.empty() ? flight.blocks : BlockCut(call_.output_borders, 0, 1);
  flight.round = 0;
  place_scratch(flight.places, flight.blocks);
  if (!is_silent()) staged_.fetch_until(segment);
  if (observer_ != nullptr) observer_->segment_begins(flight.index, segment);
}

void ScheduleExecution::place_scratch(ScratchPlaces& places, const BlockCut& blocks) const {
  if (call_.walk == Walk::by_lengths) {
    places.place(call_.scratch_lengths);
  } else {
    places.place(schedule_.scratch_shape(), blocks);
  }
}

/// Advances a flight as far as possible without waiting: through the rounds of its segment, and into its
/// next segments.
void ScheduleExecution::walk(Flight& flight) {
  for (;;) {
    if (flight.round == schedule_.rounds()) {
      if (observer_ != nullptr) observer_->segment_ends(flight.index);
      if (flight.segment + in_flight_ >= segment_count_) {
        --busy_flights_;
        return;
      }
      begin_segment(flight, flight.segment + in_flight_);
      continue;
    }
    if (!has_what_it_reads(flight)) return;
    post_round(flight);
    if (flight.in_memory > 0) advance_memory(flight);
    if (flight.posted > 0) return;
    end_round(flight);
  }
}

void ScheduleExecution::end_round(Flight& flight) {
  if (observer_ != nullptr) observer_->round_ends(flight.index, flight.round);
  if (!is_silent()) staged_.put_back(flight.segment, flight.round, flight.output_blocks);
  ++flight.round;
}

void ScheduleExecution::post_round(Flight& flight) {
  const auto round = schedule_.round(flight.round);
  flight.posted = 0;
  flight.landing_used = 0;
  // Receives go first, so that messages of this rank's partners find them posted before its own sends.
  std::size_t slot = 0;
  for (const Action& action : round) {
    if (action.receives()) post(flight, action, slot);
    if (action.communicates()) ++slot;
  }
  slot = 0;
  for (const Action& action : round) {
    if (action.kind == Kind::send) post(flight, action, slot);
    if (action.communicates()) ++slot;
    if (!action.communicates()) compute(flight, action);
  }
}

void ScheduleExecution::post(Flight& flight, const Action& action, std::size_t slot) {
  const bool sends = action.kind == Kind::send;
  const std::size_t count = elements_in(flight, sends ? action.left : action.into);
  if (count == 0) return;  // the partner knows this, too

  Transfer& transfer = transfers_[flight.first_slot + slot];
  transfer = {.action = &action, .landing = nullptr, .count = count};
  const int place = flight.lane == CallResources::none ? Neighbours::none : place_of(action);
  if (place == Neighbours::none) return post_message(flight, transfer, slot);
  transfer.memory = MemoryTransfer(*neighbours_->memory, flight.lane, place, count);
  ++flight.in_memory;
  ++flight.posted;
}

void ScheduleExecution::post_message(Flight& flight, Transfer& transfer, std::size_t slot) {
  const Action& action = *transfer.action;
  const std::size_t count = transfer.count;
  const bool sends = action.kind == Kind::send;
  // A receive that is too short for its message completes anyway, and so does the send.
  const bool is_empty = sends ? is_silent() : !has_memory_;
  void* buffer = nullptr;
  if (is_empty) {
    buffer = nullptr;
  } else if (action.kind == Kind::recv_reduce) {
    buffer = call_.element.place(flight.landing.data() + flight.landing_used, count);
    flight.landing_used += round_up(call_.element.span(count));
    transfer.landing = static_cast<std::byte*>(buffer);
  } else {
    buffer = address(flight, sends ? action.left : action.into);
  }
  const auto number = static_cast<std::size_t>(&action - schedule_.actions().data());
  int error = MPI_SUCCESS;
  const bool is_posted = messages_.post({.buffer = buffer,
                                         .count = is_empty ? 0 : count,
                                         .expected = count,
                                         .peer = peer_of(action),
                                         .tag = resources_.first_tag + static_cast<int>(flight.index),
                                         .sends = sends,
                                         .number = flight.segment * schedule_.actions().size() + number},
                                        flight.first_slot + slot, error);
  check(error);
  if (is_posted) ++flight.posted;
}

bool ScheduleExecution::progress() {
  if (ended()) return false;
  bool any = staged_.are_any() && advance_copies();
  any = advance_flights() || any;
  if (messages_.count() > 0) any = test_messages() || any;
  if (!any) look_around();
  if (ended()) end();
  return any;
}

/// Advances the messages through shared memory, in all flights.
bool ScheduleExecution::advance_flights() {
  bool any = false;
  for (Flight& flight : std::span(flights_).first(in_flight_)) {
    if (flight.in_memory == 0 || !advance_memory(flight)) continue;
    any = true;
    if (flight.posted == 0) go_on(flight);
  }
  return any;
}

/// Does what is due now and then while nothing of this call moves.
void ScheduleExecution::look_around() {
  if (!idle_polls_.count()) return;
  // The program's own MPI operations must go on while it waits here, even if nothing of this call needs MPI.
  messages_.drive_if_idle();
  if (neighbours_ && idle_polls_.is_time_for_peers()) look_for_lost_peer();
}

/// Ends the wait for a process that has ended. Nothing else would, since the MPI library does not know of the
/// wait. A rank that ends regularly has made all of its calls before, so everything that the others need of
/// it is there.
///
/// Without MPI, a rank may also have given the call up. It says why to the ranks with which it has
/// connections, so this rank may hear that before it looks again.
void ScheduleExecution::look_for_lost_peer() {
  bool has_given_up = false;
  if (find_ended_peer(has_given_up) < 0) return;
  // The process may have written something between the last look and its end.
  while (advance_flights()) {
  }
  const int peer = find_ended_peer(has_given_up);
  if (peer < 0 || (has_given_up && !std::exchange(suspects_, true))) return;
  const int code =
      messages_.note_ended(peers_ ? (*peers_)[static_cast<std::size_t>(peer)] : peer, has_given_up);
  if (code == MPI_SUCCESS) lost_peer_ = peer;
  check(code == MPI_SUCCESS ? mpi.err_other : code);
  give_up();
}

/// Returns the first peer whose process has ended, or which has given up, while a message through shared
/// memory waits for it, or -1.
int ScheduleExecution::find_ended_peer(bool& has_given_up) const {
  for (const Flight& flight : std::span(flights_).first(in_flight_)) {
    if (flight.in_memory == 0) continue;
    for (std::size_t slot = flight.first_slot; slot < flight.first_slot + width_; ++slot) {
      const Transfer& transfer = transfers_[slot];
      if (transfer.memory.ended()) continue;
      const int place = place_of(*transfer.action);
      has_given_up = neighbours_->memory->has_given_up(flight.lane, place);
      if (has_given_up || neighbours_->memory->has_ended(place)) return transfer.action->peer;
    }
  }
  return -1;
}

bool ScheduleExecution::test_messages() {
  int failure = MPI_SUCCESS;
  const std::size_t done = messages_.test(
      in_flight_ * width_,
      [&](const Completed& message) {
        if (gave_up_) return;
        const Transfer& transfer = transfers_[message.slot];
        if (transfer.action->receives()) check_length(transfer, message);
        check(message.error);
        // The other ranks hear of it without messages of this call.
        if (mpi.is_end(message.error)) return give_up();
        finish(flights_[message.slot / width_], transfer);
      },
      failure);
  if (failure != MPI_SUCCESS) {
    check(failure);
    give_up();
  }
  return done > 0 || failure != MPI_SUCCESS;
}

/// Advances the messages through shared memory in the round of a flight. Sends go first, since others wait
/// for them. Returns whether anything happened.
bool ScheduleExecution::advance_memory(Flight& flight) {
  const std::size_t in_round = messages_in_round_[static_cast<std::size_t>(flight.round)];
  bool any = false;
  for (const bool sends : {true, false}) {
    for (std::size_t i = 0; i < in_round; ++i) {
      Transfer& transfer = transfers_[flight.first_slot + i];
      if (transfer.memory.ended() || (transfer.action->kind == Kind::send) != sends) continue;
      // Messages of a pair go one after the other.
      const bool is_later = has_several_of_a_pair_[static_cast<std::size_t>(flight.round)] &&
                            std::ranges::any_of(std::span(transfers_).subspan(flight.first_slot, i),
                                                [&](const Transfer& earlier) {
                                                  return !earlier.memory.ended() &&
                                                         (earlier.action->kind == Kind::send) == sends &&
                                                         earlier.action->peer == transfer.action->peer;
                                                });
      if (!is_later) any = advance_memory(flight, transfer) || any;
    }
  }
  return any;
}

bool ScheduleExecution::advance_memory(Flight& flight, Transfer& transfer) {
  const Action& action = *transfer.action;
  const Element& element = call_.element;
  const auto moved = [&](const Slice& slice, std::size_t elements) {
    return address(flight, slice) + static_cast<std::ptrdiff_t>(elements) * element.extent;
  };
  int error = MPI_SUCCESS;
  bool any = false;
  if (action.kind == Kind::send) {
    const bool streams = MemoryTransfer::streams_in_background.load(std::memory_order_relaxed) &&
                         element.span(transfer.count) >= least_streamed_bytes;
    any = transfer.memory.send(element, is_silent() ? nullptr : address(flight, action.left), streams,
                               is_silent(), error);
  } else {
    if (is_silent()) error = this->error();
    const bool is_observed = observer_ != nullptr && action.kind == Kind::recv_reduce;
    if (is_observed) observer_->reduction_begins(flight.index);
    any = transfer.memory.receive(
        element,
        [&](std::size_t first, std::size_t count, const std::byte* data) {
          std::byte* into = moved(action.into, first);
          if (action.kind == Kind::recv) return element.copy(into, data, count);
          const std::byte* with = moved(action.with(), first);
          return action.arriving == Side::left ? element.reduce(into, data, with, count)
                                               : element.reduce(into, with, data, count);
        },
        error);
    if (is_observed && any) observer_->reduction_ends(flight.index);
  }
  check(error);
  if (const auto& wrong = transfer.memory.wrong_length(); wrong && !wrong_length_) {
    wrong_length_ = wrong;
    wrong_length_->peer = action.peer;
  }
  if (transfer.memory.ended()) {
    --flight.in_memory;
    --flight.posted;
  }
  return any;
}

std::vector<SegmentState> ScheduleExecution::segment_states() const {
  std::vector<SegmentState> all;
  if (ended()) return all;
  for (const Flight& flight : std::span(flights_).first(in_flight_)) {
    SegmentState state{.segment = flight.segment, .round = flight.round, .receives_from = {}, .sends_to = {}};
    for (std::size_t slot = flight.first_slot; slot < flight.first_slot + width_; ++slot) {
      if (!messages_.is_pending(slot) && transfers_[slot].memory.ended()) continue;
      const Action& action = *transfers_[slot].action;
      (action.receives() ? state.receives_from : state.sends_to).push_back(action.peer);
    }
    if (!state.receives_from.empty() || !state.sends_to.empty()) all.push_back(std::move(state));
  }
  return all;
}

/// Checks the length of a message. (The MPI library does not say how long one is that is too long.)
void ScheduleExecution::check_length(const Transfer& transfer, const Completed& message) {
  if (!message.arrived || has_failed()) return;
  const auto size = static_cast<std::size_t>(call_.element.size);
  const std::size_t arrived = *message.arrived;
  const std::size_t expected = transfer.count * size;
  // In some programs, the receive counts of a collective with private lengths exceed what is sent.
  const bool may_be_shorter = call_.walk == Walk::only && !call_.output_borders.empty() && arrived > 0;
  if (arrived == expected || may_be_shorter) return;
  check(mpi.err_other);
  if (arrived == 0) return;  // this tells that the sender has failed
  wrong_length_ = {.peer = transfer.action->peer, .expected = expected, .arrived = arrived};
}

void ScheduleExecution::finish(Flight& flight, const Transfer& transfer) {
  const Action& action = *transfer.action;
  if (action.kind == Kind::recv_reduce && !has_failed()) {
    if (observer_ != nullptr) observer_->reduction_begins(flight.index);
    check(call_.element.reduce_arrived(address(flight, action.into), transfer.landing,
                                       action.arriving == Side::left, address(flight, action.with()),
                                       transfer.count));
    if (observer_ != nullptr) observer_->reduction_ends(flight.index);
  }
  if (--flight.posted == 0) go_on(flight);
}

void ScheduleExecution::go_on(Flight& flight) {
  end_round(flight);
  walk(flight);
}

void ScheduleExecution::compute(const Flight& flight, const Action& action) {
  if (is_silent()) return;
  if (action.kind == Kind::copy) {
    for_each_run(action.into, action.left,
                 [&](const Slice& into, const Slice& from) { copy_run(flight, into, from); });
    return;
  }
  const std::size_t count = elements_in(flight, action.into);
  if (observer_ != nullptr) observer_->reduction_begins(flight.index);
  check(call_.element.reduce(address(flight, action.into), address(flight, action.left),
                             address(flight, action.right), count));
  if (observer_ != nullptr) observer_->reduction_ends(flight.index);
}

void ScheduleExecution::copy_run(const Flight& flight, const Slice& into, const Slice& from) {
  const std::size_t count = elements_in(flight, from);
  // An erroneous call may send itself more than it receives.
  if (elements_in(flight, into) < count) return check(mpi.err_truncate);
  check(call_.element.copy(address(flight, into), address(flight, from), count));
}

std::size_t ScheduleExecution::elements_in(const Flight& flight, const Slice& slice) const {
  const auto first = static_cast<std::size_t>(slice.first);
  const auto count = static_cast<std::size_t>(slice.count);
  if (slice.buffer != Buffer::scratch) return blocks_of(flight, slice).run(first, count).count;
  return flight.places.begin(first + count) - flight.places.begin(first);
}

std::byte* ScheduleExecution::address(const Flight& flight, const Slice& slice) const {
  const Element& element = call_.element;
  const auto first = static_cast<std::size_t>(slice.first);
  if (slice.buffer == Buffer::scratch) {
    std::byte* const memory = call_.walk == Walk::of_lengths
                                  ? reinterpret_cast<std::byte*>(call_.scratch_lengths.data())
                                  : flight.scratch.data();
    return element.place(memory, flight.places.end()) +
           static_cast<std::ptrdiff_t>(flight.places.begin(first)) * element.extent;
  }
  const bool is_output = slice.buffer == Buffer::output;
  const std::size_t held = (is_output ? call_.output_holds : call_.input_holds).first;
  const std::size_t element_number = blocks_of(flight, slice).run(first).first - held;
  // Schedules never write to the input (proven), so one function can serve both.
  auto* base = static_cast<std::byte*>(is_output ? call_.output : const_cast<void*>(call_.input));
  return base + static_cast<std::ptrdiff_t>(element_number) * element.extent;
}

}  // namespace stretto
