// SPDX-License-Identifier: Apache-2.0
#include "sockets/endpoint.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "sockets/door.hpp"
#include "sockets/files.hpp"
#include "sockets/incoming.hpp"
#include "sockets/outgoing.hpp"
#include "sockets/rail_watch.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

/// Calls `what` for all connections of one direction between two ranks.
template <typename First>
void for_each_connection(First& first, const auto& what) {
  what(first);
  for (const auto& one : first.others()) what(*one);
}

std::atomic<int> streams_to_a_rank{1};

constexpr std::chrono::milliseconds usual_look{1000};
constexpr std::chrono::milliseconds look_at_beginnings{100};
constexpr std::chrono::milliseconds look_at_busy_rails{20};

bool every_message(const Message& /*message*/) {
  return true;
}

}  // namespace

const char* keep_reason(std::string_view text) {
  static auto& mutex = make_immortal<std::mutex>();
  static auto& all = make_immortal<std::set<std::string, std::less<>>>();
  const std::lock_guard guard(mutex);
  return all.emplace(text.substr(0, longest_reason)).first->c_str();
}

/// All endpoints of this process, for fork(). A child that lives on must not keep its parent's connections
/// open: the parent's end would not be seen. While a process forks, no other thread holds the lock of an
/// endpoint.
class Endpoint::Live {
 public:
  static Live& all() {
    static auto& live = make_immortal<Live>();
    return live;
  }
  Live() {
    pthread_atfork([] { all().lock(); }, [] { all().unlock(); },
                   [] {
                     for (Endpoint* one : all().endpoints_) one->abandon_in_child();
                     all().unlock();
                   });
  }
  void add(Endpoint& one) {
    const std::lock_guard guard(mutex_);
    endpoints_.insert(&one);
  }
  void remove(Endpoint& one) {
    const std::lock_guard guard(mutex_);
    endpoints_.erase(&one);
  }

 private:
  void lock() {
    mutex_.lock();
    for (Endpoint* one : endpoints_) one->mutex_.lock();
  }
  void unlock() {
    for (Endpoint* one : endpoints_) one->mutex_.unlock();
    mutex_.unlock();
  }
  std::mutex mutex_;
  std::set<Endpoint*> endpoints_;
};

Endpoint::Endpoint(int rank, int ranks, const SipKey& secret, Socket listener, const Address& listens_at)
    : rank_(rank),
      ranks_(ranks),
      secret_(secret),
      rails_{listens_at},
      inbox_(ranks),
      peers_(static_cast<std::size_t>(ranks)),
      others_(ranks - 1),
      buffer_(std::size_t{16} << 10) {
  door_ = std::make_unique<Door>(*this, limit_of_files());
  door_->listen(std::move(listener), listens_at);
  Live::all().add(*this);
}

Endpoint::~Endpoint() {
  Live::all().remove(*this);
}

void Endpoint::use_streams(int streams) {
  streams_to_a_rank.store(std::clamp(streams, 1, most_streams), std::memory_order_relaxed);
}

int Endpoint::streams() {
  return streams_to_a_rank.load(std::memory_order_relaxed);
}

Outgoing& Endpoint::outgoing(int rank) {
  Peer& to = peer(rank);
  if (!to.out) {
    to.out = std::make_unique<Outgoing>(*this, rank);
    connected_.push_back(rank);
    if (news() > 0) tell_all(*to.out);
    if (to.address.family != 0) to.out->connect(to.address);
  }
  return *to.out;
}

void Endpoint::set_address(int rank, const Address& address) {
  const std::lock_guard guard(mutex_);
  Peer& of = peer(rank);
  if (of.address.family != 0) return;
  of.address = address;
  if (of.out) of.out->connect(address);
}

void Endpoint::start(Message& message) {
  const std::lock_guard guard(mutex_);
  if (const char* const reason = failure()) return message.end_early(reason);
  if (message.sends) {
    start_send(message);
  } else {
    start_receive(message);
  }
}

void Endpoint::start_send(Message& message) {
  if (message.peer != rank_) {
    // A rank that has left needs no more messages.
    if (peer(message.peer).has_left) return message.end(Message::State::done);
    if (const char* const reason = why_never(message)) return message.end_early(reason);
    return outgoing(message.peer).send(message);
  }
  const Envelope envelope{
      .source = rank_, .context = message.context, .tag = message.tag, .bytes = message.bytes};
  if (Message* const receive = inbox_.match(envelope)) {
    if (message.bytes > 0) std::memmove(receive->data, message.data, std::min(message.bytes, receive->bytes));
    receive->source = rank_;
    receive->arrived = message.bytes;
    receive->end(Message::State::done);
  } else {
    auto early = std::make_unique<EarlyMessage>();
    early->envelope = envelope;
    early->is_whole = true;
    early->data = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(message.bytes, 1));
    if (message.bytes > 0) std::memcpy(early->data.get(), message.data, message.bytes);
    inbox_.keep(std::move(early));
  }
  message.end(Message::State::done);
}

void Endpoint::start_receive(Message& message) {
  Inbox::Early early = inbox_.post(message);
  if (early != nullptr) return deliver(std::move(early), message);
  if (const char* const reason = why_never(message)) {
    inbox_.cancel(message);
    message.end_early(reason);
  }
}

const char* Endpoint::why_never(const Message& message) {
  if (message.peer == any_rank) return why_none_is_left();
  if (!ends_.empty()) {
    const auto found = ends_.find(group_of(message.context));
    const auto concerns = [&](const News& end) { return end.rank == message.peer || end.rank == rank_; };
    if (found != ends_.end()) {
      const auto end = std::ranges::find_if(found->second, concerns);
      if (end != found->second.end()) return end->reason;
    }
  }
  if (message.peer == rank_) return nullptr;
  const Peer& remote = peer(message.peer);
  const bool may_come = !message.sends && remote.in != nullptr && remote.in->is_any_open() &&
                        !remote.has_left && !remote.has_failed;
  return may_come ? nullptr : remote.gone;
}

void Endpoint::deliver(Inbox::Early early, Message& receive) {
  const Envelope& envelope = early->envelope;
  Incoming* const from = envelope.source == rank_ ? nullptr : peer(envelope.source).in.get();
  receive.arrived = envelope.bytes;
  if (early->is_offered()) return from->want(early->number, receive);
  if (!early->is_whole) return from->give_present(std::move(early), receive);
  const std::size_t bytes = std::min(envelope.bytes, receive.bytes);
  if (bytes > 0) std::memcpy(receive.data, early->data.get(), bytes);
  receive.source = envelope.source;
  receive.end(Message::State::done);
  if (from != nullptr) from->give_credit(envelope.bytes);
}

bool Endpoint::cancel(Message& receive) {
  const std::lock_guard guard(mutex_);
  return !receive.has_ended() && inbox_.cancel(receive);
}

void Endpoint::abort(Message& message, const char* reason) {
  const std::lock_guard guard(mutex_);
  if (!message.has_ended()) fail_messages([&](const Message& one) { return &one == &message; }, reason);
}

std::optional<Envelope> Endpoint::probe(int source, std::uint64_t context, std::int32_t tag) {
  const std::lock_guard guard(mutex_);
  return inbox_.probe(source, context, tag);
}

bool Endpoint::progress() {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard.owns_lock()) return false;
  const bool any = poller_.poll();
  if (door_->has_decided()) door_->tidy();
  if (const auto now = Clock::now(); now > next_look_) look_at_clock();
  return any;
}

void Endpoint::look_at_clock() {
  const auto now = Clock::now();
  door_->tidy();
  look_at_limits(now);
  if (failure() == nullptr) keep_in_touch();
  bool some_begin = false;
  // A copy: whoever loses a rank may connect to others.
  for (const int rank : std::vector<int>(connected_)) {
    Outgoing& out = *peer(rank).out;
    if (!is_needed(rank)) continue;
    for_each_connection(out, [](Outgoing& one) { one.look_at_acknowledged(); });
    out.look_at_clock(now);
    some_begin = some_begin || out.needs_clock();
  }
  for (const int rank : admitted_) {
    for_each_connection(*peer(rank).in, [&](Incoming& one) {
      one.look_at_acknowledged();
      if (is_needed(rank)) one.look_at_clock(now);
    });
  }
  next_look_ = now + (some_begin ? next_look() : usual_look);
}

Endpoint::Clock::duration Endpoint::next_look() const {
  return rails_.size() > 1 ? look_at_busy_rails : look_at_beginnings;
}

void Endpoint::look_soon() {
  next_look_ = std::min(next_look_, Clock::now() + next_look());
}

void Endpoint::add_rail(Socket listener, const Address& listens_at) {
  const std::lock_guard guard(mutex_);
  if (rails_.size() == most_rails) return;
  if (rail_watch_ == nullptr) rail_watch_ = std::make_unique<RailWatch>(*this);
  door_->listen(std::move(listener), listens_at);
  rails_.push_back(listens_at);
}

void Endpoint::look_at_rails() {
  const RailSet now = find_rails_out_of_order(rails_);
  if (std::exchange(out_of_order_, now) == now) return;
  next_look_ = {};  // connections leave these rails then: the poller may be about to name one of them
  for (const int rank : admitted_) {
    if (is_needed(rank)) outgoing(rank).tell_rails(now);
  }
}

void Endpoint::take_rails(int rank, RailSet out_of_order) {
  peer(rank).out_of_order = out_of_order;
  next_look_ = {};
}

void Endpoint::admit(Visitor& visitor) {
  const auto rank = static_cast<int>(visitor.hello().rank);
  Peer& from = peer(rank);
  const auto stream = static_cast<int>(visitor.hello().stream);
  // A rank's first connection (stream 0) comes before the others.
  if ((from.in == nullptr && stream > 0) || rank == rank_) return;
  if (from.in != nullptr) return from.in->take_visitor(visitor);
  from.in = std::make_unique<Incoming>(*this, rank, visitor);
  admitted_.push_back(rank);
  if (from.address.family == 0) {
    from.address = visitor.hello().listens_at;
    if (from.out) from.out->connect(from.address);
  }
  // It may have come because its parent has ended, and gets news from this one then.
  if (news() > 0 && from.gone == nullptr) outgoing(rank);
  if (const char* reason = failure()) from.in->tell({.rank = rank_, .reason = reason});
}

void Endpoint::lose(int rank, const std::string& how) {
  note_gone(rank, keep_reason("rank " + std::to_string(rank) + " is lost: " + how));
}

void Endpoint::part_from(int rank, const std::string& how) {
  const auto close = [](Connection& one) { one.close(); };
  if (peer(rank).out) for_each_connection(*peer(rank).out, close);
  if (peer(rank).in) for_each_connection(*peer(rank).in, close);
  lose(rank, how);
}

void Endpoint::take_farewell(int rank, const char* reason, bool is_news) {
  peer(rank).has_left = true;
  peer(rank).is_news = is_news;
  note_gone(rank, reason);
}

/// Fails the messages that need a rank which is gone. May be called again when a connection from it has
/// ended.
void Endpoint::note_gone(int rank, const char* reason) {
  if (failure() != nullptr) return;
  Peer& remote = peer(rank);
  if (remote.gone == nullptr) {
    remote.gone = reason;
    --others_;
    ++news_;
    if (!remote.has_left) remote.is_news = true;
    if (remote.is_news) tell({.rank = rank, .reason = reason});
    look_at_members(rank);
    for (auto& [id, census] : censuses_) {
      census.note_ended(rank);
      say_words(id, census);
    }
  }
  if (remote.out) remote.out->fail(every_message, remote.has_left ? nullptr : remote.gone);
  const bool more_may_come = remote.in != nullptr && remote.in->is_any_open() && !remote.has_failed;
  if (!more_may_come && remote.in != nullptr) remote.in->fail(every_message, remote.gone);
  // Its farewell comes behind all that it has sent, except parts of long messages.
  if (!more_may_come || remote.has_left) {
    inbox_.fail([&](const Message& one) { return one.peer == rank; }, remote.gone);
    look_at_receives_from_any();
  }
  // Ranks that leave at the end of a job are no reason to make connections.
  if (remote.is_news) keep_in_touch();
}

void Endpoint::take_news(const News& news, int from) {
  if (failure() != nullptr) return;
  if (news.group == News::everything && news.rank == from) peer(from).has_failed = true;
  if (news.group != News::everything) return end_in_locked(news);
  if (news.rank != rank_) return note_gone(news.rank, news.reason);
  fail_locked(keep_reason("the other ranks have gone on without this one: " + std::string(news.reason)));
}

void Endpoint::end_in(std::uint64_t group, std::uint64_t from, const std::string& reason) {
  const std::lock_guard guard(mutex_);
  if (failure() != nullptr) return;
  const std::string unexplained = "rank " + std::to_string(rank_) + " has given up";
  const char* const why = keep_reason(reason.empty() ? unexplained : reason);
  end_in_locked({.rank = rank_, .group = group_of(group), .from = from, .reason = why});
}

void Endpoint::end_in_locked(const News& news) {
  std::vector<News>& ends = ends_[news.group];
  const auto known = std::ranges::find(ends, news.rank, &News::rank);
  if (known != ends.end() && known->from <= news.from) return;
  if (known == ends.end()) {
    ends.push_back(news);
  } else {
    known->from = news.from;
  }
  ++news_;
  tell(news);
  const bool is_own = news.rank == rank_;
  fail_messages(
      [&](const Message& one) {
        return group_of(one.context) == news.group && (is_own || one.peer == news.rank);
      },
      news.reason);
}

void Endpoint::tell(const News& news) {
  for (const int rank : connected_) {
    if (peer(rank).gone == nullptr) peer(rank).out->tell(news);
  }
}

std::optional<News> Endpoint::end_of(std::uint64_t group) {
  const std::lock_guard guard(mutex_);
  const auto found = ends_.find(group_of(group));
  if (found == ends_.end()) return std::nullopt;
  return *std::ranges::min_element(found->second, {}, &News::from);
}

bool Endpoint::has_bad_news() {
  const std::lock_guard guard(mutex_);
  return !ends_.empty() || std::ranges::any_of(peers_, [](const Peer& one) { return one.is_news; });
}

const char* Endpoint::why_ended(int rank) {
  const std::lock_guard guard(mutex_);
  return why_gone(rank);
}

void Endpoint::tell_all(Outgoing& to) {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (peer(rank).is_news) to.tell({.rank = rank, .reason = peer(rank).gone});
  }
  for (const auto& [group, ends] : ends_) {
    for (const News& end : ends) to.tell(end);
  }
}

void Endpoint::keep_in_touch() {
  const auto connect = [&](int rank) {
    const Peer& remote = peer(rank);
    if (rank != rank_ && remote.gone == nullptr && remote.in == nullptr && remote.out == nullptr)
      outgoing(rank);
  };
  inbox_.for_each_awaited(connect);
  for (const auto& [id, census] : censuses_) std::ranges::for_each(census.missing(), connect);
  if (others_ == 0 || others_ == ranks_ - 1) return;
  int near = rank_;
  do {
    near = parent_in_start(near);
  } while (near > 0 && peer(near).gone != nullptr);
  for (int rank = 0; peer(near).gone != nullptr; ++rank) near = rank;
  if (near != rank_) outgoing(near);
}

const char* Endpoint::why_none_is_left() const {
  return others_ == 0 && ranks_ > 1
             ? "all other ranks have ended, and this rank waits for a message from any of them"
             : nullptr;
}

void Endpoint::look_at_receives_from_any() {
  if (const char* const reason = why_none_is_left())
    inbox_.fail([](const Message& one) { return one.peer == any_rank; }, reason);
}

void Endpoint::limit(std::uint64_t group, double seconds, const std::string& reason,
                     std::vector<int> members) {
  const std::lock_guard guard(mutex_);
  const auto patience = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const auto ended = std::ranges::find_if(members, [&](int rank) { return peer(rank).gone != nullptr; });
  const int its_rank = ended == members.end() ? -1 : *ended;
  limits_[group] = {Clock::now() + patience, reason, std::move(members)};
  if (its_rank >= 0) look_at_members(its_rank);
}

void Endpoint::look_at_members(int ended) {
  std::erase_if(limits_, [&](const auto& one) {
    const auto& [group, limit] = one;
    if (std::ranges::find(limit.members, ended) == limit.members.end()) return false;
    end_in_locked({.rank = rank_, .group = group_of(group), .from = 0, .reason = peer(ended).gone});
    return true;
  });
}

void Endpoint::spare(std::uint64_t group) {
  const std::lock_guard guard(mutex_);
  limits_.erase(group);
}

void Endpoint::look_at_limits(Clock::time_point now) {
  while (true) {
    const auto over = std::ranges::find_if(limits_, [&](const auto& one) { return now > one.second.until; });
    if (over == limits_.end()) return;
    const auto [group, limit] = *over;
    limits_.erase(over);
    const char* const reason = keep_reason(limit.reason);
    if (failure() != nullptr) continue;
    if (group == News::everything) {
      fail_locked(reason);
    } else {
      end_in_locked({.rank = rank_, .group = group_of(group), .from = 0, .reason = reason});
    }
  }
}

template <typename Known>
void Endpoint::await_news(const Known& is_known) {
  constexpr std::chrono::milliseconds longest{500};
  constexpr double one_look = 0.01;
  const auto until = Clock::now() + longest;
  while (!is_known() && failure() == nullptr && Clock::now() < until) {
    if (!progress()) await(one_look);
  }
}

void Endpoint::await_any_news() {
  await_news([this] { return news() > 0; });
}

void Endpoint::note_ended(int rank, const std::string& how) {
  await_news([&] { return why_ended(rank) != nullptr; });
  const std::lock_guard guard(mutex_);
  lose(rank, how);
}

void Endpoint::fail(const std::string& reason) {
  const std::lock_guard guard(mutex_);
  if (failure() == nullptr) fail_locked(keep_reason(reason.empty() ? "a rank has given up" : reason));
}

void Endpoint::fail_locked(const char* reason) {
  fail_messages(every_message, reason);
  const News news{.rank = rank_, .reason = reason};
  tell(news);
  for (const int rank : admitted_) {
    if (peer(rank).gone == nullptr && !peer(rank).out) peer(rank).in->tell(news);
  }
  ++news_;
  // A thread that sees this frees the messages' memory.
  failure_.store(reason, std::memory_order_release);
}

void Endpoint::fail_messages(const Which& which, const char* reason) {
  inbox_.fail(which, reason);
  for (const int rank : connected_) peer(rank).out->fail(which, reason);
  for (const int rank : admitted_) peer(rank).in->fail(which, reason);
}

void Endpoint::close() {
  const std::lock_guard guard(mutex_);
  if (failure() != nullptr) return;
  const char* const reason = keep_reason("the job has ended");
  fail_messages(every_message, reason);
  failure_.store(reason, std::memory_order_release);
}

void Endpoint::leave(double seconds, const std::string& reason) {
  const std::string usual = "rank " + std::to_string(rank_) + " has left the job";
  const char* const why = keep_reason(reason.empty() ? usual : reason);
  const bool is_news = !reason.empty();
  // If a reason does not get through, because a rank reads nothing, that rank hears it from others or sees
  // its connections end.
  constexpr double longest_after_failure = 1;
  if (failure() != nullptr || has_bad_news()) seconds = std::min(seconds, longest_after_failure);
  const auto patience = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  // A rank to which this one has sent something gets the farewell only behind that, on the same connection:
  // on the other one it might come first.
  const auto say_farewell = [&](auto&& say, auto&& count_left) {
    {
      const std::lock_guard guard(mutex_);
      say();
    }
    auto least = std::numeric_limits<std::size_t>::max();
    for (auto until = Clock::now() + patience; least > 0 && Clock::now() < until;) {
      if (!progress()) std::this_thread::sleep_for(std::chrono::microseconds(100));
      const std::lock_guard guard(mutex_);
      const std::size_t left = count_left();
      if (left < std::exchange(least, std::min(least, left))) until = Clock::now() + patience;
    }
  };
  const auto bytes_left_for = [&](int rank) {
    return peer(rank).gone != nullptr ? std::size_t{0} : peer(rank).out->bytes_left();
  };
  const auto sum = [](const std::vector<int>& ranks, auto&& left_for) {
    return std::transform_reduce(ranks.begin(), ranks.end(), std::size_t{0}, std::plus(), left_for);
  };
  say_farewell(
      [&] {
        const auto say = [&](Connection& one) { one.say_farewell(why, is_news); };
        for (const int rank : connected_) {
          if (peer(rank).gone == nullptr) for_each_connection(*peer(rank).out, say);
        }
      },
      [&] { return sum(connected_, [&](int rank) { return bytes_left_for(rank); }); });
  say_farewell(
      [&] {
        for (const int rank : admitted_) {
          if (peer(rank).gone != nullptr) continue;
          const auto& out = peer(rank).out;
          if (!out || !out->is_ready() || out->bytes_left() > 0) peer(rank).in->say_farewell(why, is_news);
        }
      },
      [&] {
        return sum(admitted_, [&](int rank) {
          return peer(rank).gone != nullptr ? std::size_t{0} : peer(rank).in->bytes_left();
        });
      });
}

void Endpoint::abandon_in_child() {
  poller_.close();
  door_->abandon();
  if (rail_watch_) rail_watch_->abandon();
  const auto abandon = [](Connection& one) { one.abandon(); };
  for (const int rank : connected_) for_each_connection(*peer(rank).out, abandon);
  for (const int rank : admitted_) for_each_connection(*peer(rank).in, abandon);
}

}  // namespace stretto
