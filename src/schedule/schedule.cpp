// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.hpp"

#include <algorithm>
#include <stdexcept>

namespace stretto {

std::span<const Action> Schedule::round(int index) const {
  const auto i = static_cast<std::size_t>(index);
  const std::size_t begin = i == 0 ? 0 : round_ends_[i - 1];
  return std::span(actions_).subspan(begin, round_ends_[i] - begin);
}

Schedule& Schedule::send(Slice from, int peer) {
  actions_.push_back({.kind = Kind::send, .peer = peer, .into = {}, .left = from, .right = {}});
  return *this;
}

Schedule& Schedule::recv(Slice into, int peer) {
  actions_.push_back({.kind = Kind::recv, .peer = peer, .into = into, .left = {}, .right = {}});
  return *this;
}

Schedule& Schedule::recv_reduce(Slice into, Slice with, int peer, Side arriving) {
  const bool left = arriving == Side::left;
  actions_.push_back({.kind = Kind::recv_reduce,
                      .arriving = arriving,
                      .peer = peer,
                      .into = into,
                      .left = left ? Slice{} : with,
                      .right = left ? with : Slice{}});
  return *this;
}

Schedule& Schedule::copy(Slice into, Slice from) {
  if (into != from) actions_.push_back({.kind = Kind::copy, .into = into, .left = from, .right = {}});
  return *this;
}

Schedule& Schedule::copy_each(Buffer into_buffer, std::span<const int> into, Buffer from_buffer,
                              std::span<const int> from) {
  const std::size_t all = into.size();
  for (std::size_t begin = 0; begin < all;) {
    std::size_t run = 1;
    const auto continues = [&](std::size_t at, std::size_t length) {
      return into[at] == into[at - 1] + 1 && from[at] == from[at - 1] + 1 && at < begin + length;
    };
    while (begin + run < all && continues(begin + run, all)) ++run;
    // Takes as many runs of this length as lie at equal distances on both sides.
    std::size_t end = begin + run;
    const auto distance = [&](std::span<const int> numbers) {
      return end < all ? numbers[end] - numbers[begin] : 0;
    };
    const int into_step = distance(into);
    const int from_step = distance(from);
    const auto follows = [&] {
      for (std::size_t i = end; i < end + run; ++i) {
        if (i >= all || into[i] != into[i - run] + into_step || from[i] != from[i - run] + from_step)
          return false;
      }
      return true;
    };
    while (follows()) end += run;
    const auto slice = [&](Buffer buffer, std::span<const int> numbers, int step) {
      const Slice plain{buffer, numbers[begin], static_cast<int>(end - begin)};
      const auto length = static_cast<int>(run);
      return end == begin + run || step == length ? plain : strided(plain, plain.count, length, step);
    };
    copy(slice(into_buffer, into, into_step), slice(from_buffer, from, from_step));
    begin = end;
  }
  return *this;
}

Schedule& Schedule::reduce(Slice into, Slice left, Slice right) {
  actions_.push_back({.kind = Kind::reduce, .into = into, .left = left, .right = right});
  return *this;
}

Schedule& Schedule::end_round() {
  const std::size_t begin = round_ends_.empty() ? 0 : round_ends_.back();
  if (actions_.size() == begin) return *this;
  int landing = 0;
  int messages = 0;
  for (std::size_t i = begin; i < actions_.size(); ++i) {
    if (actions_[i].kind == Kind::recv_reduce) landing += actions_[i].into.count;
    if (actions_[i].communicates()) ++messages;
  }
  most_landing_blocks_ = std::max(most_landing_blocks_, landing);
  widest_round_ = std::max(widest_round_, messages);
  round_ends_.push_back(static_cast<std::uint32_t>(actions_.size()));
  return *this;
}

int Schedule::add_scratch(int like) {
  scratch_shape_.add(like);
  return static_cast<int>(scratch_shape_.size()) - 1;
}

int Schedule::add_scratch(int first, int count) {
  const int number = static_cast<int>(scratch_shape_.size());
  scratch_shape_.add(first, count);
  return number;
}

Schedule Schedule::reversed() const {
  const auto back = [](Slice slice) {
    if (slice.buffer != Buffer::scratch) {
      slice.buffer = slice.buffer == Buffer::input ? Buffer::output : Buffer::input;
    }
    return slice;
  };
  Schedule result(ranks_, rank_, blocks_);
  result.scratch_shape_ = scratch_shape_;
  for (int index = rounds() - 1; index >= 0; --index) {
    // The first of two messages to one rank stays the first on both sides.
    for (const Action& action : round(index)) {
      switch (action.kind) {
        case Kind::send:
          result.recv(back(action.left), action.peer);
          break;
        case Kind::recv:
          result.send(back(action.into), action.peer);
          break;
        case Kind::copy:
          result.copy(back(action.left), back(action.into));
          break;
        case Kind::recv_reduce:
        case Kind::reduce:
          throw std::logic_error("a schedule that reduces has no way back");
      }
    }
    result.end_round();
  }
  return result;
}

namespace {

/// Maps the slices of a part to slices of the whole.
class Placing {
 public:
  Placing(const Schedule& part, const Embedding& embedding, Schedule& whole) : embedding_(embedding) {
    for (const int like : part.scratch_shape().all()) {
      scratch_begin_.push_back(static_cast<int>(whole.scratch_shape().size()));
      const int count = border(like + 1) - border(like);
      if (!embedding.all_alike) whole.add_scratch(border(like), count);
      for (int i = 0; embedding.all_alike && i < count; ++i) whole.add_scratch(0);
    }
    scratch_begin_.push_back(static_cast<int>(whole.scratch_shape().size()));
  }

  [[nodiscard]] Slice operator()(const Slice& slice) const {
    if (slice.count == 0) return slice;
    if (slice.buffer == Buffer::scratch) {
      const int begin = scratch_begin_[static_cast<std::size_t>(slice.first)];
      return {Buffer::scratch, begin,
              scratch_begin_[static_cast<std::size_t>(slice.first + slice.count)] - begin};
    }
    const bool is_input = slice.buffer == Buffer::input;
    const Buffer buffer = is_input ? embedding_.input : embedding_.output;
    // Scratch that stands for a buffer holds only the blocks of the part, from their first one on.
    const int shift = buffer != Buffer::scratch
                          ? 0
                          : (is_input ? embedding_.input_scratch : embedding_.output_scratch) - border(0);
    const int begin = border(slice.first);
    return {buffer, begin + shift, border(slice.first + slice.count) - begin};
  }

 private:
  [[nodiscard]] int border(int block) const {
    return embedding_.borders.empty() ? block : embedding_.borders[static_cast<std::size_t>(block)];
  }

  const Embedding& embedding_;
  std::vector<int> scratch_begin_;
};

}  // namespace

Schedule& Schedule::append(const Schedule& part, const Embedding& embedding) {
  end_round();
  const Placing place(part, embedding, *this);
  for (int index = 0; index < part.rounds(); ++index) {
    for (const Action& action : part.round(index)) {
      if (action.into.is_strided() || action.left.is_strided()) {
        for_each_run(action.into, action.left,
                     [&](const Slice& into, const Slice& from) { copy(place(into), place(from)); });
        continue;
      }
      Action placed = action;
      if (action.communicates() && !embedding.ranks.empty()) {
        placed.peer = embedding.ranks[static_cast<std::size_t>(action.peer)];
      }
      placed.into = place(action.into);
      placed.left = place(action.left);
      placed.right = place(action.right);
      const bool moves_nothing = placed.kind == Kind::copy && placed.into == placed.left;
      const bool is_empty = (placed.kind == Kind::send ? placed.left : placed.into).count == 0;
      if (!moves_nothing && !is_empty) actions_.push_back(placed);
    }
    end_round();
  }
  return *this;
}

}  // namespace stretto
