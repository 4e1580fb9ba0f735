// SPDX-License-Identifier: Apache-2.0
#include "verify/round_conflicts.hpp"

#include <array>
#include <cstdlib>
#include <set>
#include <span>
#include <vector>

#include "schedule/action_text.hpp"
#include "verify/cells.hpp"

namespace stretto {
namespace {

struct Touched {
  std::array<Slice, 2> reads{};
  int read_count = 0;
  Slice write{};
  bool writes = false;
};

Touched touched_by(const Action& action) {
  switch (action.kind) {
    case Kind::send:
      return {.reads = {action.left}, .read_count = 1};
    case Kind::recv:
      return {.write = action.into, .writes = true};
    case Kind::recv_reduce:
      return {.reads = {action.with()}, .read_count = 1, .write = action.into, .writes = true};
    case Kind::copy:
      return {.reads = {action.left}, .read_count = 1, .write = action.into, .writes = true};
    case Kind::reduce:
      return {.reads = {action.left, action.right}, .read_count = 2, .write = action.into, .writes = true};
  }
  return {};
}

class ConflictFinder {
 public:
  ConflictFinder(const Schedule& schedule, const Problem& problem)
      : schedule_(schedule),
        cells_(schedule.ranks(), schedule.rank(), schedule.blocks(), schedule.scratch_shape(), problem),
        writer_(static_cast<std::size_t>(cells_.size()), nobody) {}

  std::string check_round(int index) {
    const auto round = schedule_.round(index);
    std::string error;
    for (const Action& action : round) {
      if (error.empty()) error = check_action(action);
    }
    if (error.empty()) error = mark_writes(round);
    if (error.empty()) error = check_reads(round);
    clear_writes(round);
    return error;
  }

 private:
  static constexpr int nobody = -1;

  [[nodiscard]] std::string check_action(const Action& action) const {
    const std::string problem = problem_of(action);
    return problem.empty() ? "" : to_string(action) + ": " + problem;
  }

  [[nodiscard]] std::string problem_of(const Action& action) const {
    const Touched touched = touched_by(action);
    const bool has_peer = action.kind == Kind::send || action.receives();
    if (has_peer && action.peer == schedule_.rank()) return "a rank has no messages for itself";
    if (action.kind != Kind::copy && (action.into.is_strided() || action.left.is_strided())) {
      return "only a copy may be strided";
    }
    if (has_peer && (action.peer < 0 || action.peer >= schedule_.ranks())) {
      return "there is no rank " + std::to_string(action.peer);
    }
    if (touched.writes && touched.write.buffer == Buffer::input) return "it writes to the input";
    if (touched.writes && !cells_.exists(touched.write)) return missing("writes", touched.write);
    for (int i = 0; i < touched.read_count; ++i) {
      const Slice& read = touched.reads.at(static_cast<std::size_t>(i));
      if (!cells_.exists(read)) return missing("reads", read);
      if (!touched.writes) continue;
      if (!same_shape(read, touched.write)) return "its operands are different blocks";
      if (overlaps_partly(read, touched.write) || destroys(touched.write, read)) {
        return "its operand " + to_string(read) + " overlaps the result in part";
      }
    }
    return {};
  }

  static std::string missing(const std::string& verb, const Slice& slice) {
    return "it " + verb + " " + to_string(slice) + ", which this rank does not have";
  }

  [[nodiscard]] bool same_shape(const Slice& a, const Slice& b) const {
    if (a.count != b.count) return false;
    for (int i = 0; i < a.count; ++i) {
      if (cells_.shape(a, i) != cells_.shape(b, i)) return false;
    }
    return true;
  }

  [[nodiscard]] bool overlaps_partly(const Slice& a, const Slice& b) const {
    if (a.is_strided() || b.is_strided()) return shares_cells(a, b);
    const int distance = std::abs(cells_.number(a, 0) - cells_.number(b, 0));
    return distance != 0 && distance < a.count;
  }

  [[nodiscard]] bool shares_cells(const Slice& a, const Slice& b) const {
    std::set<int> numbers;
    for (int i = 0; i < a.count; ++i) numbers.insert(cells_.number(a, i));
    for (int i = 0; i < b.count; ++i) {
      if (numbers.contains(cells_.number(b, i))) return true;
    }
    return false;
  }

  /// Whether a write to one slice may destroy the other, though they are different blocks.
  [[nodiscard]] bool destroys(const Slice& write, const Slice& other) const {
    return cells_.output_destroys_input() && write.buffer == Buffer::output && other.buffer == Buffer::input;
  }

  std::string mark_writes(std::span<const Action> round) {
    for (std::size_t i = 0; i < round.size(); ++i) {
      const Touched touched = touched_by(round[i]);
      if (!touched.writes) continue;
      for (int offset = 0; offset < touched.write.count; ++offset) {
        int& writer = writer_of(touched.write, offset);
        if (writer != nobody) {
          return to_string(round[static_cast<std::size_t>(writer)]) + " and " + to_string(round[i]) +
                 " both write " + block_name(touched.write, offset);
        }
        writer = static_cast<int>(i);
      }
    }
    return {};
  }

  std::string check_reads(std::span<const Action> round) {
    for (std::size_t i = 0; i < round.size(); ++i) {
      const Touched touched = touched_by(round[i]);
      for (int k = 0; k < touched.read_count; ++k) {
        std::string error = check_read(round, i, touched.reads.at(static_cast<std::size_t>(k)));
        if (!error.empty()) return error;
      }
    }
    return {};
  }

  std::string check_read(std::span<const Action> round, std::size_t reader, const Slice& read) {
    for (int offset = 0; offset < read.count; ++offset) {
      const int writer = writer_of(read, offset);
      if (writer != nobody && writer != static_cast<int>(reader)) {
        return to_string(round[reader]) + " reads " + block_name(read, offset) + ", which " +
               to_string(round[static_cast<std::size_t>(writer)]) + " writes";
      }
    }
    for (const Action& other : round) {
      if (touched_by(other).writes && destroys(other.into, read)) {
        return to_string(round[reader]) + " reads the input, which " + to_string(other) +
               " overwrites in place";
      }
    }
    return {};
  }

  [[nodiscard]] int& writer_of(const Slice& slice, int offset) {
    return writer_[static_cast<std::size_t>(cells_.number(slice, offset))];
  }

  /// One block of a slice. In place, `in1` and `b1` are the same block.
  static std::string block_name(const Slice& slice, int offset) {
    return to_string(Slice{slice.buffer, slice.block(offset), 1});
  }

  void clear_writes(std::span<const Action> round) {
    for (const Action& action : round) {
      const Touched touched = touched_by(action);
      if (!touched.writes || !cells_.exists(touched.write)) continue;
      for (int offset = 0; offset < touched.write.count; ++offset) writer_of(touched.write, offset) = nobody;
    }
  }

  const Schedule& schedule_;
  Cells cells_;
  std::vector<int> writer_;  // which action of the round writes a cell
};

}  // namespace

std::string find_round_conflict(const Schedule& schedule, const Problem& problem) {
  for (const int like : schedule.scratch_shape().all()) {
    if (like < 0 || like >= schedule.blocks()) {
      return "rank " + std::to_string(schedule.rank()) +
             ": scratch is shaped like a block that does not exist";
    }
  }
  ConflictFinder finder(schedule, problem);
  for (int index = 0; index < schedule.rounds(); ++index) {
    std::string error = finder.check_round(index);
    if (!error.empty()) {
      return "rank " + std::to_string(schedule.rank()) + ", round " + std::to_string(index) + ": " + error;
    }
  }
  return {};
}

}  // namespace stretto
