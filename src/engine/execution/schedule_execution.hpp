// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/data/buffer_pool.hpp"
#include "engine/execution/execution.hpp"
#include "engine/messages/idle_polls.hpp"
#include "engine/messages/memory_transfer.hpp"
#include "engine/messages/message_slots.hpp"
#include "engine/messages/neighbours.hpp"
#include "engine/staging/staged_segments.hpp"
#include "schedule/pipelining.hpp"
#include "schedule/schedule.hpp"

namespace stretto {

/// The ranks of a collective, as ranks of the communicator of its messages; nullptr: both are the same.
using Peers = std::shared_ptr<const std::vector<int>>;

/// The resources that an execution keeps from one call to the next.
enum class Keep : std::uint8_t {
  nothing,   // calls differ
  requests,  // all calls are the same (a persistent collective): memory, and a request for every message
};

/// Runs a schedule on messages of a transport, and through shared memory between ranks of a node: k segments,
/// of which a window is in flight. Each segment is a walk through the same schedule with other elements and
/// another tag, or lane. Data that arrives is reduced and passed on at once, so other segments fill the gaps
/// of one segment. An execution is made once for a communicator and a schedule, and started any number of
/// times. Only the first start of a size allocates.
///
/// If something fails on a rank, the rank goes on through its schedule, so that its partners get the messages
/// that they wait for and can send theirs. From then on it sends messages without elements. Other messages
/// always have some, so a rank that gets an empty message, or one that is too short, has failed, too. (The
/// ranks of an erroneous call may have messages of different lengths. If they cut them into different numbers
/// of messages, some may still wait for ever.) A walk of lengths sends all that it has, and lets its caller
/// know that it has failed: a rank whose lengths did not arrive could not tell which messages are empty.
class ScheduleExecution final : public Execution {
 public:
  /// A schedule that sends runs of the caller's blocks must not be cut: `pipelining` is empty then.
  ScheduleExecution(std::unique_ptr<Transport> transport, Peers peers, Schedule schedule,
                    const Pipelining& pipelining, Keep keep = Keep::nothing,
                    SharedNeighbours neighbours = nullptr);

  /// Returns one tag for each segment in flight.
  [[nodiscard]] std::size_t tags(const Call& call) const override;
  void start(const Call& call, const CallResources& resources) override;
  void start_failed(const Call& call, const CallResources& resources, int error) override;
  [[nodiscard]] StagedInput staged_input() const override { return StagedInput::by_segments; }
  bool progress() override;
  [[nodiscard]] bool ended() const override { return busy_flights_ == 0 || gave_up_; }
  void give_up() override;
  [[nodiscard]] bool leaves_memory() const override { return gave_up_ && !messages_.takes_back(); }
  [[nodiscard]] std::uint64_t steps() const override { return messages_.steps(); }
  [[nodiscard]] std::vector<SegmentState> segment_states() const override;

 private:
  /// A message that was posted.
  struct Transfer {
    const Action* action = nullptr;
    std::byte* landing = nullptr;  // where the operand of a recv_reduce lands
    std::size_t count = 0;
    MemoryTransfer memory{};  // if it goes through shared memory
  };
  /// Carries one segment at a time. Flight f of w carries the segments f, f + w, f + 2w, … one after the
  /// other, so they share its tag: messages of one pair and tag match in order.
  struct Flight {
    std::size_t index = 0;
    std::size_t first_slot = 0;  // of its width_ requests and transfers
    std::size_t segment = 0;
    BlockCut blocks;
    BlockCut output_blocks;
    ScratchPlaces places;
    int round = 0;
    std::size_t posted = 0;     // transfers of the round that have not completed
    std::size_t in_memory = 0;  // those of them that go through shared memory
    int lane = CallResources::none;
    bool awaits_copy = false;
    PooledBuffer scratch;
    PooledBuffer landing;
    std::size_t landing_used = 0;
  };

  void prepare(const Call& call, const CallResources& resources);
  [[nodiscard]] bool uses_shared_memory() const;
  void reserve_places();
  void reserve_memory();
  void release_memory();
  void begin_walks();
  void end();
  [[nodiscard]] bool has_what_it_reads(Flight& flight);
  bool advance_copies();
  void begin_segment(Flight& flight, std::size_t segment);
  void walk(Flight& flight);
  void end_round(Flight& flight);
  void post_round(Flight& flight);
  void post(Flight& flight, const Action& action, std::size_t slot);
  void post_message(Flight& flight, Transfer& transfer, std::size_t slot);
  void look_around();
  bool advance_flights();
  [[nodiscard]] int find_ended_peer(bool& has_given_up) const;
  void look_for_lost_peer();
  bool test_messages();
  bool advance_memory(Flight& flight);
  bool advance_memory(Flight& flight, Transfer& transfer);
  void check_length(const Transfer& transfer, const Completed& message);
  void finish(Flight& flight, const Transfer& transfer);
  void go_on(Flight& flight);
  void compute(const Flight& flight, const Action& action);
  void copy_run(const Flight& flight, const Slice& into, const Slice& from);
  void place_scratch(ScratchPlaces& places, const BlockCut& blocks) const;

  [[nodiscard]] bool has_failed() const { return error() != MPI_SUCCESS; }
  /// Whether this rank sends no elements and computes nothing any more.
  [[nodiscard]] bool is_silent() const { return has_failed() && call_.walk != Walk::of_lengths; }
  [[nodiscard]] std::size_t segments_of(const Call& call) const;
  [[nodiscard]] BlockCut cut(std::size_t segment) const;
  [[nodiscard]] std::size_t landing_elements(const BlockCut& longest) const;
  [[nodiscard]] static const BlockCut& blocks_of(const Flight& flight, const Slice& slice) {
    return slice.buffer == Buffer::output ? flight.output_blocks : flight.blocks;
  }
  [[nodiscard]] std::size_t elements_in(const Flight& flight, const Slice& slice) const;
  [[nodiscard]] std::byte* address(const Flight& flight, const Slice& slice) const;
  /// Returns the place of a peer in this node's memory, or Neighbours::none.
  [[nodiscard]] int place_of(const Action& action) const {
    return neighbours_ ? neighbours_->place_of[static_cast<std::size_t>(action.peer)] : Neighbours::none;
  }
  [[nodiscard]] bool lands_messages() const;
  [[nodiscard]] int peer_of(const Action& action) const {
    return peers_ ? (*peers_)[static_cast<std::size_t>(action.peer)] : action.peer;
  }

  Peers peers_;
  Schedule schedule_;
  Pipelining pipelining_;
  Keep keep_;
  SharedNeighbours neighbours_;
  std::size_t width_;  // the most transfers of a flight
  // For each round, if there are neighbours: the number of its messages, and whether a pair of ranks has
  // several of them.
  std::vector<std::uint32_t> messages_in_round_;
  std::vector<bool> has_several_of_a_pair_;

  Call call_;
  void* output_ = nullptr;  // as the program gave it, if the result is made in another place
  PooledBuffer apart_;
  CallResources resources_;
  MessageSlots messages_;
  IdlePolls idle_polls_;
  bool suspects_ = false;   // a peer had given up when this rank looked last
  bool has_memory_ = true;  // false: a call that failed before it began; nothing is read or written
  std::size_t segment_count_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t busy_flights_ = 0;

  StagedSegments staged_;

  std::vector<Flight> flights_;
  std::vector<Transfer> transfers_;  // width_ for each flight, beside its messages
};

}  // namespace stretto
