// SPDX-License-Identifier: Apache-2.0
#include "schedule/touched_blocks.hpp"

#include <algorithm>

namespace stretto {
namespace {

constexpr int never = -1;

template <typename Visit>
void for_each_operand(const Action& action, Visit visit) {
  switch (action.kind) {
    case Kind::send:
    case Kind::copy:
      return visit(action.left);
    case Kind::recv_reduce:
      return visit(action.with());
    case Kind::reduce:
      visit(action.left);
      return visit(action.right);
    case Kind::recv:
      return;
  }
}

/// Divides blocks into parts of whole rounds. `round_of` holds the round of each block.
std::vector<TouchedBlocks::Part> divide(const std::vector<int>& round_of, int rounds, std::size_t parts,
                                        bool ends_part) {
  std::vector<TouchedBlocks::Part> of_rounds(static_cast<std::size_t>(rounds));
  std::size_t all = 0;
  for (std::size_t block = 0; block < round_of.size(); ++block) {
    if (round_of[block] == never) continue;
    of_rounds[static_cast<std::size_t>(round_of[block])].blocks.push_back(static_cast<int>(block));
    ++all;
  }
  const std::size_t enough = std::max<std::size_t>(1, (all + parts - 1) / std::max<std::size_t>(1, parts));
  std::vector<TouchedBlocks::Part> result;
  for (int round = 0; round < rounds; ++round) {
    auto& blocks = of_rounds[static_cast<std::size_t>(round)].blocks;
    if (blocks.empty()) continue;
    if (result.empty() || result.back().blocks.size() >= enough) result.push_back({round, {}});
    // A part that is read must be there for its first round. A part that is written is ready after its last
    // one.
    if (ends_part) result.back().round = round;
    result.back().blocks.insert(result.back().blocks.end(), blocks.begin(), blocks.end());
  }
  for (TouchedBlocks::Part& part : result) std::ranges::sort(part.blocks);
  return result;
}

}  // namespace

TouchedBlocks TouchedBlocks::find(const Schedule& schedule, bool in_place, std::size_t parts) {
  const auto blocks = static_cast<std::size_t>(schedule.blocks());
  std::vector<int> first_read(blocks, never);
  std::vector<int> last_written(blocks, never);
  for (int round = 0; round < schedule.rounds(); ++round) {
    for (const Action& action : schedule.round(round)) {
      for_each_operand(action, [&](const Slice& slice) {
        if (slice.buffer == Buffer::scratch || (slice.buffer == Buffer::output && !in_place)) return;
        for (int i = 0; i < slice.count; ++i) {
          const auto block = static_cast<std::size_t>(slice.block(i));
          const bool is_own = in_place && last_written[block] != never;
          if (first_read[block] == never && !is_own) first_read[block] = round;
        }
      });
    }
    for (const Action& action : schedule.round(round)) {
      if (action.kind == Kind::send || action.into.buffer != Buffer::output) continue;
      for (int i = 0; i < action.into.count; ++i)
        last_written[static_cast<std::size_t>(action.into.block(i))] = round;
    }
  }
  return {.reads = divide(first_read, schedule.rounds(), parts, false),
          .writes = divide(last_written, schedule.rounds(), parts, true)};
}

}  // namespace stretto
