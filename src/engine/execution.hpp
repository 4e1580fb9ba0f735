// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "engine/buffer_pool.hpp"
#include "engine/call.hpp"
#include "engine/mpi.hpp"
#include "engine/pipelining.hpp"
#include "schedule/schedule.hpp"

namespace stretto {

/// Runs a schedule on MPI point-to-point: k segments, of which a window is in flight, each a walk through the
/// same schedule over other elements and under a tag of its own. It is event-driven: whatever arrives is
/// reduced and passed on at once, so that the gaps of one segment are filled by the others. Made once for a
/// communicator and a schedule, started any number of times, one call at a time; a start after the first of
/// its size allocates nothing.
class Execution {
 public:
  /// `comm` is Stretto's own, returns errors, and has the ranks of `schedule`. A schedule that sends runs of
  /// the caller's blocks must not be cut: `pipelining` says nothing then.
  Execution(MPI_Comm comm, Schedule schedule, const Pipelining& pipelining);

  /// The blocking face. Returns an MPI error code; after an error the execution must not be used again.
  int run(const Call& call);

 private:
  /// A communication that is posted.
  struct Transfer {
    const Action* action = nullptr;
    std::byte* landing = nullptr;  // of a recv_reduce
    std::size_t count = 0;
  };
  /// A place for one segment in flight.
  struct Flight {
    std::size_t first_slot = 0;  // of its width_ requests and transfers
    bool busy = false;
    int tag = 0;
    BlockCut blocks;
    std::vector<std::size_t> scratch_offsets;  // in elements; one more for the end
    int round = 0;
    std::size_t posted = 0;  // transfers of the round that have not ended
    PooledBuffer scratch;
    PooledBuffer landing;
    std::size_t landing_used = 0;
  };

  int run_apart(const Call& call);
  void start(const Call& call);
  void reserve_memory();
  bool progress();  // whether anything happened
  void begin_segment(Flight& flight);
  void walk(Flight& flight);
  void post_round(Flight& flight);
  void post(Flight& flight, const Action& action, std::size_t slot);
  void finish(Flight& flight, const Transfer& transfer);
  void compute(const Flight& flight, const Action& action);
  void place_scratch(Flight& flight);

  [[nodiscard]] BlockCut cut(std::size_t segment) const;
  [[nodiscard]] std::size_t landing_elements(const BlockCut& longest) const;
  [[nodiscard]] std::size_t elements_in(const Flight& flight, const Slice& slice) const;
  [[nodiscard]] std::byte* address(const Flight& flight, const Slice& slice) const;
  void check(int code) {
    if (code != MPI_SUCCESS && error_ == MPI_SUCCESS) error_ = code;
  }

  MPI_Comm comm_;
  Schedule schedule_;
  Pipelining pipelining_;
  std::size_t width_;  // transfers of a flight at most

  Call call_;
  std::size_t segment_count_ = 0;
  std::size_t next_segment_ = 0;
  std::size_t busy_flights_ = 0;
  int error_ = MPI_SUCCESS;

  std::vector<Flight> flights_;
  std::vector<MPI_Request> requests_;  // width_ of each flight
  std::vector<Transfer> transfers_;    // beside requests_
  std::vector<int> completed_;
};

}  // namespace stretto
