// SPDX-License-Identifier: Apache-2.0
#include "faces/sockets/tree_call.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "faces/sockets/objects.hpp"

namespace stretto {
namespace {

/// Messages of these calls have the other context of the group.
constexpr std::uint64_t own_context = 1;

}  // namespace

TreeCall::TreeCall(OpaqueComm& comm, Kind kind, int root, std::span<std::byte> data, Reduce reduce,
                   std::byte* all)
    : ranks_(comm.ranks),
      size_(comm.size()),
      context_(comm.context ^ own_context),
      kind_(kind),
      root_(root),
      relative_((comm.rank - root + comm.size()) % comm.size()),
      tag_(static_cast<int>(comm.calls.fetch_add(1) & INT32_MAX)),
      data_(data),
      reduce_(std::move(reduce)),
      all_(all) {
  const int below = ranks_below(relative_);
  for (int step = 1; step < below; step *= 2) children_.push_back(relative_ + step);
  if (kind_ == Kind::gather) {
    gathered_.resize(data_.size() * static_cast<std::size_t>(size_));
    std::ranges::copy(data_, gathered_.begin() + relative_ * static_cast<std::ptrdiff_t>(data_.size()));
  } else if (kind_ != Kind::bcast) {
    gathered_.resize(data_.size() * children_.size());
  }
  begin_phase(kind_ == Kind::bcast ? Phase::from_parent : Phase::from_children);
}

/// Returns the size of the rank's subtree.
int TreeCall::ranks_below(int relative) const {
  return relative == 0 ? size_ : std::min(relative & -relative, size_ - relative);
}

int TreeCall::in_job(int relative) const {
  return (*ranks_)[static_cast<std::size_t>((relative + root_) % size_)];
}

void TreeCall::start(bool sends, int relative, std::byte* data, std::size_t bytes) {
  Message& message = messages_.emplace_back();
  message.sends = sends;
  message.peer = in_job(relative);
  message.context = context_;
  message.tag = tag_;
  message.data = data;
  message.bytes = bytes;
  faces::sockets::job->endpoint->start(message);
}

void TreeCall::begin_phase(Phase phase) {
  phase_ = phase;
  const std::size_t part = data_.size();
  const auto at = [&](int relative) { return gathered_.data() + static_cast<std::size_t>(relative) * part; };
  const auto subtree = [&](int relative) { return static_cast<std::size_t>(ranks_below(relative)) * part; };
  const bool gathers = kind_ == Kind::gather;
  const int parent = relative_ & (relative_ - 1);
  switch (phase) {
    case Phase::from_children:
      for (std::size_t i = 0; i < children_.size(); ++i) {
        if (gathers) {
          start(false, children_[i], at(children_[i]), subtree(children_[i]));
        } else {
          start(false, children_[i], gathered_.data() + i * part, part);
        }
      }
      break;
    case Phase::to_parent:
      if (relative_ != 0)
        start(true, parent, gathers ? at(relative_) : data_.data(), gathers ? subtree(relative_) : part);
      break;
    case Phase::from_parent:
      if (relative_ != 0)
        start(false, parent, gathers ? gathered_.data() : data_.data(), gathers ? gathered_.size() : part);
      break;
    case Phase::to_children:
      for (const int child : children_)
        start(true, child, gathers ? gathered_.data() : data_.data(), gathers ? gathered_.size() : part);
      break;
    default:
      break;
  }
}

bool TreeCall::advance() {
  while (phase_ < Phase::ended) {
    // After a failure, the others may never end.
    if (std::ranges::any_of(messages_,
                            [](const Message& one) { return one.state == Message::State::failed; }))
      end_messages();
    if (!std::ranges::all_of(messages_, &Message::has_ended)) return false;
    const auto failed = std::ranges::find_if(
        messages_, [](const Message& one) { return one.state == Message::State::failed; });
    if (failed == messages_.end()) {
      end_phase();
    } else {
      error_ = faces::sockets::code_of(failed->reason);
      phase_ = Phase::ended;
    }
  }
  return true;
}

void TreeCall::end_messages() {
  for (Message& one : messages_) {
    if (!one.has_ended()) faces::sockets::job->endpoint->abort(one, "a call was given up");
  }
}

void TreeCall::end_phase() {
  messages_.clear();
  switch (phase_) {
    case Phase::from_children:
      if (reduce_) {
        for (std::size_t i = 0; i < children_.size(); ++i)
          reduce_(gathered_.data() + i * data_.size(), data_.data());
      }
      return begin_phase(Phase::to_parent);
    case Phase::to_parent:
      return begin_phase(kind_ == Kind::to_root ? Phase::ended : Phase::from_parent);
    case Phase::from_parent:
      return begin_phase(Phase::to_children);
    default:
      if (kind_ == Kind::gather) put_in_order();
      return begin_phase(Phase::ended);
  }
}

void TreeCall::put_in_order() {
  const auto begin = static_cast<std::size_t>(root_) * data_.size();
  const std::size_t behind = gathered_.size() - begin;
  if (behind > 0) std::memcpy(all_ + begin, gathered_.data(), behind);
  if (begin > 0) std::memcpy(all_, gathered_.data() + behind, begin);
}

}  // namespace stretto
