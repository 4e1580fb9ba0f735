// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/buffer_pool.hpp"
#include "engine/execution.hpp"
#include "schedule/pipelining.hpp"
#include "schedule/schedule.hpp"

namespace stretto {

/// The ranks of a collective, as ranks of the communicator over which its messages travel; nullptr: as they
/// are.
using Peers = std::shared_ptr<const std::vector<int>>;

/// What an execution keeps from one call to the next.
enum class Keep : std::uint8_t {
  nothing,   // calls differ
  requests,  // all calls are one (a persistent collective): memory, and a request for every message
};

/// Runs a schedule on MPI point-to-point: k segments, of which a window is in flight, each a walk through the
/// same schedule over other elements and under a tag of its own. It is event-driven: whatever arrives is
/// reduced and passed on at once, so that the gaps of one segment are filled by the others. Made once for a
/// communicator and a schedule, started any number of times; a start after the first of its size allocates
/// nothing.
///
/// A rank on which something fails walks on through its schedule, so that its partners get as many messages
/// as they wait for and can send theirs. What it sends from then on has no elements, which no other message
/// has: whoever gets such a one, or one that is too short, has failed as well. (The ranks of an erroneous
/// call may have messages of different lengths. Where they cut them into different numbers of messages, some
/// may still wait for ever.)
class ScheduleExecution final : public Execution {
 public:
  /// `comm` is Stretto's own and returns errors. A schedule that sends runs of the caller's blocks must not
  /// be cut: `pipelining` says nothing then.
  ScheduleExecution(MPI_Comm comm, Peers peers, Schedule schedule, const Pipelining& pipelining,
                    Keep keep = Keep::nothing);
  ~ScheduleExecution() override;

  /// One for each segment in flight.
  [[nodiscard]] std::size_t tags(const Call& call) const override;
  void start(const Call& call, int first_tag) override;
  void start_failed(const Call& call, int first_tag, int error) override;
  bool progress() override;
  [[nodiscard]] bool ended() const override { return busy_flights_ == 0 || gave_up_; }
  void give_up() override;
  [[nodiscard]] std::vector<SegmentState> segment_states() const override;

 private:
  /// What MPI is told of a communication.
  struct Posting {
    void* buffer;
    int count;
    int peer;
    int tag;
  };
  /// A communication that is posted.
  struct Transfer {
    const Action* action = nullptr;
    std::byte* landing = nullptr;  // of a recv_reduce
    std::size_t count = 0;
    MPI_Request* kept = nullptr;  // if it is one of these
  };
  /// A place for one segment in flight. Flight f of w carries the segments f, f + w, f + 2w, … one after the
  /// other, so its tag serves them all: messages of one pair and tag match in order.
  struct Flight {
    std::size_t index = 0;
    std::size_t first_slot = 0;  // of its width_ requests and transfers
    std::size_t segment = 0;
    BlockCut blocks;
    std::vector<std::size_t> scratch_offsets;  // in elements; one more for the end
    int round = 0;
    std::size_t posted = 0;  // transfers of the round that have not ended
    PooledBuffer scratch;
    PooledBuffer landing;
    std::size_t landing_used = 0;
  };

  void reserve_places();
  void reserve_memory();
  void release_memory();
  void begin_walks();
  void end();
  void begin_segment(Flight& flight, std::size_t segment);
  void walk(Flight& flight);
  void end_round(Flight& flight);
  void post_round(Flight& flight);
  void post(Flight& flight, const Action& action, std::size_t slot);
  [[nodiscard]] int post_once(const Posting& posting, bool sends, MPI_Request* request) const;
  [[nodiscard]] int post_kept(const Posting& posting, bool sends, MPI_Request* kept,
                              MPI_Request* request) const;
  void check_length(const Transfer& transfer, const MPI_Status& status);
  void finish(Flight& flight, const Transfer& transfer);
  void compute(const Flight& flight, const Action& action);
  void place_scratch(Flight& flight);

  [[nodiscard]] bool has_failed() const { return error() != MPI_SUCCESS; }
  [[nodiscard]] std::size_t segments_of(const Call& call) const;
  [[nodiscard]] BlockCut cut(std::size_t segment) const;
  [[nodiscard]] std::size_t landing_elements(const BlockCut& longest) const;
  [[nodiscard]] std::size_t elements_in(const Flight& flight, const Slice& slice) const;
  [[nodiscard]] std::byte* address(const Flight& flight, const Slice& slice) const;
  [[nodiscard]] int peer_of(const Action& action) const {
    return peers_ ? (*peers_)[static_cast<std::size_t>(action.peer)] : action.peer;
  }

  MPI_Comm comm_;
  Peers peers_;
  Schedule schedule_;
  Pipelining pipelining_;
  Keep keep_;
  std::size_t width_;  // transfers of a flight at most

  Call call_;
  void* output_ = nullptr;  // as the program gave it, if the result is made apart from it
  PooledBuffer apart_;
  int first_tag_ = 0;
  bool has_memory_ = true;  // false: of a call that failed before it began, nothing is read or written
  std::size_t segment_count_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t busy_flights_ = 0;

  std::vector<Flight> flights_;
  std::vector<MPI_Request> requests_;  // width_ of each flight
  std::vector<Transfer> transfers_;    // beside requests_
  std::vector<int> completed_;
  std::vector<MPI_Status> statuses_;  // beside completed_
  std::vector<MPI_Request> kept_;     // of each segment and action, to be started again and again
};

}  // namespace stretto
