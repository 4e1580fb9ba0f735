// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.hpp"

#include <algorithm>

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
  actions_.push_back({.kind = Kind::copy, .into = into, .left = from, .right = {}});
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
  for (std::size_t i = begin; i < actions_.size(); ++i) {
    if (actions_[i].kind == Kind::recv_reduce) landing += actions_[i].into.count;
  }
  most_landing_blocks_ = std::max(most_landing_blocks_, landing);
  widest_round_ = std::max(widest_round_, static_cast<int>(actions_.size() - begin));
  round_ends_.push_back(static_cast<std::uint32_t>(actions_.size()));
  return *this;
}

int Schedule::add_scratch(int like) {
  scratch_shape_.push_back(like);
  return static_cast<int>(scratch_shape_.size()) - 1;
}

}  // namespace stretto
