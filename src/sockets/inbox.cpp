// SPDX-License-Identifier: Apache-2.0
#include "sockets/inbox.hpp"

#include <algorithm>
#include <iterator>

namespace stretto {
namespace {

template <typename List>
auto find_receive(List& posted, const Envelope& envelope) {
  return std::ranges::find_if(posted, [&](const Message* receive) {
    return receive->context == envelope.context && receive->tag == envelope.tag;
  });
}

template <typename List>
auto find_early(List& early, std::uint64_t context, std::int32_t tag) {
  return std::ranges::find_if(
      early, [&](const auto& one) { return one->envelope.context == context && one->envelope.tag == tag; });
}

}  // namespace

Inbox::Early Inbox::post(Message& receive) {
  receive.order = ++posted_;
  auto first = at(0).early.end();
  OfRank* of = nullptr;
  const auto look = [&](OfRank& rank) {
    const auto found = find_early(rank.early, receive.context, receive.tag);
    if (found == rank.early.end() || (of != nullptr && (*first)->order < (*found)->order)) return;
    first = found;
    of = &rank;
  };
  if (receive.peer != any_rank) {
    look(at(receive.peer));
  } else if (early_ > 0) {
    std::ranges::for_each(of_, look);
  }
  if (of == nullptr) {
    (receive.peer == any_rank ? posted_for_any_ : at(receive.peer).posted).push_back(&receive);
    return nullptr;
  }
  Early taken = std::move(*first);
  of->early.erase(first);
  --early_;
  return taken;
}

Message* Inbox::match(const Envelope& envelope) {
  std::list<Message*>& own = at(envelope.source).posted;
  const auto of_source = find_receive(own, envelope);
  const auto of_any = find_receive(posted_for_any_, envelope);
  const bool has_own = of_source != own.end();
  const bool has_any = of_any != posted_for_any_.end();
  if (!has_own && !has_any) return nullptr;
  const bool takes_own = has_own && (!has_any || (*of_source)->order < (*of_any)->order);
  Message* receive = takes_own ? *of_source : *of_any;
  if (takes_own) {
    own.erase(of_source);
  } else {
    posted_for_any_.erase(of_any);
  }
  return receive;
}

void Inbox::keep(Early early) {
  early->order = ++came_;
  ++early_;
  at(early->envelope.source).early.push_back(std::move(early));
}

std::optional<Envelope> Inbox::probe(int source, std::uint64_t context, std::int32_t tag) const {
  const EarlyMessage* first = nullptr;
  const auto look = [&](const OfRank& rank) {
    const auto found = find_early(rank.early, context, tag);
    if (found != rank.early.end() && (first == nullptr || (*found)->order < first->order))
      first = found->get();
  };
  if (source != any_rank) {
    look(at(source));
  } else if (early_ > 0) {
    std::ranges::for_each(of_, look);
  }
  return first == nullptr ? std::nullopt : std::optional(first->envelope);
}

bool Inbox::cancel(Message& receive) {
  std::list<Message*>& posted = receive.peer == any_rank ? posted_for_any_ : at(receive.peer).posted;
  const auto found = std::ranges::find(posted, &receive);
  if (found == posted.end()) return false;
  posted.erase(found);
  return true;
}

void Inbox::fail(const Which& which, const char* reason) {
  const auto fail_some = [&](std::list<Message*>& posted) {
    std::list<Message*> failed;
    for (auto one = posted.begin(); one != posted.end();) {
      const auto next = std::next(one);
      if (which(**one)) failed.splice(failed.end(), posted, one);
      one = next;
    }
    for (Message* receive : failed) receive->end_early(reason);
  };
  fail_some(posted_for_any_);
  for (OfRank& rank : of_) fail_some(rank.posted);
}

void Inbox::for_each_awaited(const std::function<void(int)>& what) const {
  for (std::size_t rank = 0; rank < of_.size(); ++rank) {
    if (!of_[rank].posted.empty()) what(static_cast<int>(rank));
  }
}

}  // namespace stretto
