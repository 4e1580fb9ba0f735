// SPDX-License-Identifier: Apache-2.0
// The actions of one rank in calls of one shape that go through shared memory alone: its schedule, with all
// addresses worked out, and made shorter where memory allows it.
//
// - Sends of one slice in one round are one message that several ranks read (a publication): it is copied in
//   once.
// - If a round is followed by rounds that only compute, and only these need what has arrived, their
//   computations become a *fold*: they are carried out chunk by chunk, as soon as a chunk has arrived from
//   all of its senders, and straight from their stores. So nothing lands, and intermediate results stay in
//   the first-level cache. The operands of each operation, and so the bits, are those of the schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/data/call.hpp"
#include "engine/messages/neighbours.hpp"
#include "schedule/schedule.hpp"

namespace stretto {

struct DirectPlan {
  static constexpr int none = -1;

  /// A place in a buffer, in bytes from its beginning.
  struct Offset {
    Buffer buffer = Buffer::input;
    std::ptrdiff_t offset = 0;
  };

  /// A message, or a computation.
  struct Step {
    Kind kind = Kind::send;
    bool arrives_left = false;
    bool is_folded = false;        // a message that arrives for the fold of its round
    std::size_t first_target = 0;  // of its peers in `targets`; several ones only for a send
    std::size_t target_count = 0;
    int behind = none;      // the step of the round whose message must pass first
    std::size_t count = 0;  // elements
    Offset into{};
    Offset left{};
    Offset right{};

    [[nodiscard]] bool communicates() const { return target_count > 0; }
  };

  /// An operand of an operation of a fold.
  struct Operand {
    enum class Where : std::uint8_t { arrival, temporary, memory };
    Where where = Where::memory;
    std::size_t index = 0;  // of the step of the round, or of the temporary
    Offset place{};
  };
  struct Operation {
    Kind kind = Kind::reduce;  // or copy
    Operand into;
    Operand left;
    Operand right;
  };

  struct Round {
    std::size_t first_step = 0;
    std::size_t steps = 0;
    std::size_t first_operation = 0;  // of its fold
    std::size_t operations = 0;       // 0: it has none
    std::size_t fold_count = 0;       // elements
  };

  std::vector<Round> rounds;
  std::vector<Step> steps;
  std::vector<int> targets;  // places of peers
  std::vector<Operation> operations;
  std::size_t temporaries = 0;  // the most that a fold has
  std::size_t scratch_bytes = 0;

  /// `blocks`: the blocks of a segment of the call. Places are counted from the segment's first element on.
  static DirectPlan make(const Schedule& schedule, const Neighbours& neighbours, const Call& call,
                         const BlockCut& blocks, std::size_t first_element);
};

}  // namespace stretto
