// SPDX-License-Identifier: Apache-2.0
#include "sockets/endpoint.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "sockets/connections.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

/// Raises the limit of open files, because a rank may need a connection to each other rank. Returns the
/// limit.
std::size_t raise_limit_of_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_max;
}

/// Returns a copy of the text that is never freed: it may be asked for at any time.
const char* keep_reason(const std::string& reason) {
  static auto& mutex = make_immortal<std::mutex>();
  static auto& all = make_immortal<std::set<std::string>>();
  const std::lock_guard guard(mutex);
  return all.insert(reason).first->c_str();
}

/// Calls `what` for all connections of one direction between two ranks.
template <typename First>
void for_each_connection(First& first, const auto& what) {
  what(first);
  for (const auto& one : first.others()) what(*one);
}

std::atomic<int> streams_to_a_rank{1};

constexpr std::chrono::milliseconds usual_look{1000};
constexpr std::chrono::milliseconds look_at_beginnings{100};

}  // namespace

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

class Endpoint::Door final : public Polled {
 public:
  static constexpr std::size_t most_visitors = 512;
  static constexpr std::chrono::seconds longest_visit{10};

  /// Visitors may use at most a quarter of the `files`, so that most are left to the program and the ranks.
  Door(Endpoint& endpoint, Socket listener, std::size_t files)
      : endpoint_(endpoint),
        listener_(std::move(listener)),
        most_visitors_(std::clamp<std::size_t>(files / 4, 1, most_visitors)) {
    endpoint_.poller_.add(listener_, *this);
  }

  bool look(bool /*readable*/, bool /*writable*/) override {
    constexpr int most_at_once = 64;
    for (int i = 0; i < most_at_once; ++i) {
      Socket socket(accept4(listener_.file(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket) {
        // Without a file descriptor for the visitor, the poller would name the listener again and again.
        is_shut_ = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (is_shut_) endpoint_.poller_.remove(listener_);
        return i > 0;
      }
      if (visitors_.size() >= most_visitors_) refuse_first();
      Guest& guest = visitors_.emplace_back(*this, std::move(socket), Clock::now() + longest_visit);
      endpoint_.poller_.add(guest.visitor.socket(), guest);
    }
    return true;
  }

  /// To be called when no visitor is being looked at.
  void tidy() {
    const auto now = Clock::now();
    visitors_.remove_if([&](Guest& guest) {
      if (guest.verdict == Visitor::Verdict::admitted) endpoint_.admit(guest.visitor);
      return guest.verdict != Visitor::Verdict::undecided || guest.visitor.is_overdue(now);
    });
    has_decided_ = false;
    if (std::exchange(is_shut_, false)) endpoint_.poller_.add(listener_, *this);
  }
  [[nodiscard]] bool has_decided() const { return has_decided_; }

  void abandon() {
    listener_.close();
    for (Guest& guest : visitors_) guest.visitor.socket().close();
  }

 private:
  struct Guest final : Polled {
    Guest(Door& of, Socket socket, Clock::time_point until) : door(of), visitor(std::move(socket), until) {}
    ~Guest() override { door.endpoint_.poller_.remove(visitor.socket()); }
    bool look(bool /*readable*/, bool /*writable*/) override {
      if (verdict == Visitor::Verdict::undecided)
        verdict = visitor.look(door.endpoint_.secret_, door.endpoint_.ranks_);
      door.has_decided_ = door.has_decided_ || verdict != Visitor::Verdict::undecided;
      return true;
    }
    Door& door;
    Visitor visitor;
    Visitor::Verdict verdict = Visitor::Verdict::undecided;
  };

  /// Refuses the first visitor. It may be about to be looked at, so only tidy() removes it.
  void refuse_first() {
    const auto first = std::ranges::find(visitors_, Visitor::Verdict::undecided, &Guest::verdict);
    if (first == visitors_.end()) return;
    first->verdict = Visitor::Verdict::refused;
    has_decided_ = true;
  }

  Endpoint& endpoint_;
  Socket listener_;
  std::size_t most_visitors_;
  std::list<Guest> visitors_;
  bool has_decided_ = false;
  bool is_shut_ = false;
};

Endpoint::Endpoint(int rank, int ranks, const SipKey& secret, Socket listener, const Address& listens_at)
    : rank_(rank),
      ranks_(ranks),
      secret_(secret),
      listens_at_(listens_at),
      inbox_(ranks),
      peers_(static_cast<std::size_t>(ranks)),
      others_(ranks - 1),
      buffer_(std::size_t{16} << 10) {
  door_ = std::make_unique<Door>(*this, std::move(listener), raise_limit_of_files());
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
  if (failure() != nullptr) return message.end(Message::State::failed);
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
  if (message.peer == any_rank) return look_at_receives_from_any();
  if (message.peer != rank_ && peer(message.peer).has_left) fail_without(message.peer);
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
  bool some_begin = false;
  for (const int rank : connected_) {
    Outgoing& out = *peer(rank).out;
    if (peer(rank).has_left || failure() != nullptr) continue;
    out.look_at_clock(now);
    some_begin = some_begin || out.needs_clock();
  }
  next_look_ = now + (some_begin ? look_at_beginnings : usual_look);
}

void Endpoint::look_soon() {
  next_look_ = std::min(next_look_, Clock::now() + look_at_beginnings);
}

void Endpoint::admit(Visitor& visitor) {
  const auto rank = static_cast<int>(visitor.hello().rank);
  Peer& from = peer(rank);
  const auto stream = static_cast<int>(visitor.hello().stream);
  // No rank connects twice, and its first connection (stream 0) comes before the others.
  if ((from.in != nullptr) == (stream == 0) || rank == rank_) return;
  poller_.remove(visitor.socket());
  if (stream > 0) return from.in->add_stream(stream, std::move(visitor.socket()));
  from.in = std::make_unique<Incoming>(*this, rank, std::move(visitor.socket()));
  admitted_.push_back(rank);
  if (from.address.family == 0) {
    from.address = visitor.hello().listens_at;
    if (from.out) from.out->connect(from.address);
  }
  if (const char* reason = failure()) from.in->tell_failure(reason);
}

void Endpoint::lose(int rank, const std::string& how) {
  if (!peer(rank).has_left) fail_locked("rank " + std::to_string(rank) + " is lost: " + how);
}

void Endpoint::take_farewell(int rank) {
  if (!std::exchange(peer(rank).has_left, true)) --others_;
  if (peer(rank).out) peer(rank).out->end_all(Message::State::done);
  if (inbox_.awaits(rank)) fail_without(rank);
  look_at_receives_from_any();
}

void Endpoint::look_at_receives_from_any() {
  if (others_ == 0 && ranks_ > 1 && inbox_.awaits_any())
    fail_locked("all other ranks have left the job, and this rank waits for a message from any of them");
}

void Endpoint::fail_without(int rank) {
  fail_locked("rank " + std::to_string(rank) + " has left the job, but other ranks wait for it");
}

void Endpoint::fail(const std::string& reason) {
  const std::lock_guard guard(mutex_);
  fail_locked(reason);
}

void Endpoint::fail_late(const std::string& reason) {
  constexpr std::chrono::milliseconds longest{500};
  constexpr double one_look = 0.01;
  const auto until = Clock::now() + longest;
  while (failure() == nullptr && Clock::now() < until) {
    if (!progress()) await(one_look);
  }
  fail(reason);
}

void Endpoint::fail_locked(const std::string& reason) {
  if (this->reason() != nullptr) return;
  end_all_messages(reason);
  const auto tell = [this](Connection& one) { one.tell_failure(failure()); };
  for (const int rank : connected_) for_each_connection(*peer(rank).out, tell);
  for (const int rank : admitted_) for_each_connection(*peer(rank).in, tell);
}

void Endpoint::end_all_messages(const std::string& reason) {
  const char* const text = keep_reason(reason.substr(0, longest_failure));
  reason_.store(text, std::memory_order_release);
  inbox_.fail();
  for (const int rank : connected_) peer(rank).out->end_all(Message::State::failed);
  for (const int rank : admitted_) peer(rank).in->fail();
  // A thread that sees this frees the messages' memory.
  failure_.store(text, std::memory_order_release);
}

void Endpoint::close() {
  const std::lock_guard guard(mutex_);
  if (reason() == nullptr) end_all_messages("the job has ended");
}

void Endpoint::leave(double seconds) {
  // If a reason does not get through, because a rank reads nothing, that rank hears it from others or sees
  // its connections end.
  constexpr double longest_after_failure = 1;
  if (failure() != nullptr) seconds = std::min(seconds, longest_after_failure);
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
  const auto sum = [](const std::vector<int>& ranks, auto&& left_for) {
    return std::transform_reduce(ranks.begin(), ranks.end(), std::size_t{0}, std::plus(), left_for);
  };
  say_farewell(
      [&] {
        const auto say = [](Connection& one) { one.say_farewell(); };
        for (const int rank : connected_) for_each_connection(*peer(rank).out, say);
      },
      [&] { return sum(connected_, [&](int rank) { return peer(rank).out->bytes_left(); }); });
  say_farewell(
      [&] {
        for (const int rank : admitted_) {
          if (!peer(rank).out || peer(rank).out->bytes_left() > 0) peer(rank).in->say_farewell();
        }
      },
      [&] { return sum(admitted_, [&](int rank) { return peer(rank).in->bytes_left(); }); });
}

void Endpoint::abandon_in_child() {
  poller_.close();
  door_->abandon();
  const auto abandon = [](Connection& one) { one.abandon(); };
  for (const int rank : connected_) for_each_connection(*peer(rank).out, abandon);
  for (const int rank : admitted_) for_each_connection(*peer(rank).in, abandon);
}

}  // namespace stretto
