// SPDX-License-Identifier: Apache-2.0
// Runs a schedule whose blocks have private lengths and are relayed: they pass through ranks that do not know
// their lengths. It walks the schedule twice. The first walk moves the length of each block in place of the
// block, so every rank knows what each of its messages will hold. The second walk moves the blocks.
// (Two-phase Bruck of Fan, Gilray, Kumar and others 2022 does this for each step of its own. Here it serves
// every schedule.)
//
// It is proven that no block of scratch or of the output is written twice (verify/verify.hpp), so each has
// one length. A rank ends the first walk before it begins the second, and messages of a pair and tag, or
// lane, arrive in order. So both walks have the same tag.
//
// The lengths that travel decide, not those that the receiver expects. A block that is shorter or longer than
// expected still passes other ranks unharmed; its receiver gets as much of it as there is room for, and an
// error if it is too long.
//
// A rank that fails still takes part in the first walk, as everyone needs the lengths that it passes on. A
// length can be lost only if the MPI library fails. Then the rank that misses it has failed, and so have
// those to which the block was to go. But its sender does not know, and may wait for ever with a long block.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/data/buffer_pool.hpp"
#include "engine/execution/schedule_execution.hpp"

namespace stretto {

class RelayedExecution final : public Execution {
 public:
  /// Takes the arguments of a ScheduleExecution. Persistent calls keep no requests: lengths may differ from
  /// call to call.
  RelayedExecution(std::unique_ptr<Transport> transport, Peers peers, Schedule schedule,
                   SharedNeighbours neighbours = nullptr);

  [[nodiscard]] std::size_t tags(const Call& /*call*/) const override { return 1; }
  void start(const Call& call, const CallResources& resources) override;
  void start_failed(const Call& call, const CallResources& resources, int error) override;
  [[nodiscard]] StagedInput staged_input() const override { return StagedInput::awaited; }
  bool progress() override;
  [[nodiscard]] bool ended() const override { return !is_under_way_ || gave_up_; }
  void give_up() override;
  [[nodiscard]] bool leaves_memory() const override { return gave_up_ && walk_.leaves_memory(); }
  [[nodiscard]] std::uint64_t steps() const override { return walk_.steps(); }
  /// Segment 0 is the walk of lengths, segment 1 that of data.
  [[nodiscard]] std::vector<SegmentState> segment_states() const override;

 private:
  class Segments final : public Observer {
   public:
    void segment_begins(std::size_t flight, std::size_t /*segment*/) override {
      to->segment_begins(flight, walk);
    }
    void round_ends(std::size_t flight, int round) override { to->round_ends(flight, round); }
    void segment_ends(std::size_t flight) override { to->segment_ends(flight); }
    void input_arrives(std::size_t flight) override { to->input_arrives(flight); }

    Observer* to = nullptr;
    std::size_t walk = 0;
  };

  void begin(const Call& call, const CallResources& resources);
  void go_on();
  void begin_data();
  void read_lengths();
  [[nodiscard]] bool is_as_expected() const;
  void put_apart(Call& data);
  void end();
  void copy_to_output();
  void abandon();

  std::size_t blocks_;
  std::size_t scratch_blocks_;
  ScheduleExecution walk_;
  Segments segments_;

  Call call_;
  CallResources resources_;
  bool is_under_way_ = false;
  /// The memory of the four members that follow, while a call is under way. For p = 32768 it is 5 MB by
  /// bruck, 17 MB on a leader of smp for 16 ranks.
  PooledBuffer lengths_;
  std::span<std::size_t> sent_;     // [block] of the input
  std::span<std::size_t> arrived_;  // [block] of the output
  std::span<std::size_t> passing_;  // [scratch block]
  std::span<std::size_t> borders_;  // of what arrives
  PooledBuffer apart_;              // the output, if lengths are not those that are expected
};

}  // namespace stretto
