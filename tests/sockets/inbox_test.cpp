// SPDX-License-Identifier: Apache-2.0
#include "sockets/inbox.hpp"

#include <deque>
#include <list>

#include "frames.hpp"

namespace stretto {
namespace {

/// A model of MPI's rule: messages and receives match in order, by source, context and tag.
class Model {
 public:
  struct Early {
    Envelope envelope;
    std::uint64_t number;
  };

  std::optional<std::uint64_t> post(Message& receive) {
    for (auto it = early.begin(); it != early.end(); ++it) {
      if (!fits(receive.peer, receive.context, receive.tag, it->envelope)) continue;
      const std::uint64_t number = it->number;
      early.erase(it);
      return number;
    }
    posted.push_back(&receive);
    return std::nullopt;
  }
  Message* match(const Envelope& envelope) {
    for (auto it = posted.begin(); it != posted.end(); ++it) {
      Message* receive = *it;
      if (!fits(receive->peer, receive->context, receive->tag, envelope)) continue;
      posted.erase(it);
      return receive;
    }
    return nullptr;
  }
  [[nodiscard]] const Early* probe(int source, std::uint64_t context, int tag) const {
    for (const Early& one : early) {
      if (fits(source, context, tag, one.envelope)) return &one;
    }
    return nullptr;
  }
  bool cancel(Message& receive) { return std::erase(posted, &receive) > 0; }
  [[nodiscard]] bool awaits(int source) const {
    return std::ranges::any_of(posted, [&](const Message* receive) { return receive->peer == source; });
  }

  std::list<Early> early;
  std::list<Message*> posted;

 private:
  static bool fits(int peer, std::uint64_t context, int tag, const Envelope& envelope) {
    return (peer == any_rank || peer == envelope.source) && context == envelope.context &&
           tag == envelope.tag;
  }
};

class RandomSteps {
 public:
  RandomSteps(unsigned seed, int ranks, std::size_t tags)
      : random_(seed), ranks_(ranks), tags_(tags), inbox_(ranks) {}

  void step() {
    const std::size_t kind = random_.below(10);
    if (kind < 4) {
      post();
    } else if (kind < 8) {
      arrive();
    } else if (kind < 9) {
      probe();
    } else {
      cancel();
    }
    for (int rank = 0; rank < ranks_; ++rank) EXPECT_EQ(inbox_.awaits(rank), model_.awaits(rank));
  }
  void fail() {
    inbox_.fail([](const Message&) { return true; }, "enough");
    for (const Message& receive : receives_) {
      const bool is_posted = std::ranges::find(model_.posted, &receive) != model_.posted.end();
      EXPECT_EQ(receive.state == Message::State::failed, is_posted);
    }
    for (int rank = 0; rank < ranks_; ++rank) EXPECT_FALSE(inbox_.awaits(rank));
  }

 private:
  int random_tag() { return static_cast<int>(random_.below(tags_)); }
  void post() {
    Message& receive = receives_.emplace_back();
    receive.peer = random_.once_in(3) ? any_rank : random_.rank(ranks_);
    receive.context = 1 + random_.below(2);
    receive.tag = random_tag();
    const Inbox::Early early = inbox_.post(receive);
    const std::optional<std::uint64_t> wanted = model_.post(receive);
    ASSERT_EQ(early != nullptr, wanted.has_value());
    if (wanted) {
      EXPECT_EQ(early->number, *wanted);
    }
  }
  void arrive() {
    const Envelope envelope{.source = random_.rank(ranks_),
                            .context = 1 + random_.below(2),
                            .tag = random_tag(),
                            .bytes = random_.below(100)};
    Message* receive = inbox_.match(envelope);
    ASSERT_EQ(receive, model_.match(envelope));
    if (receive != nullptr) return;
    auto early = std::make_unique<EarlyMessage>();
    early->envelope = envelope;
    early->number = ++messages_;
    inbox_.keep(std::move(early));
    model_.early.push_back({envelope, messages_});
  }
  void probe() {
    const int source = random_.once_in(3) ? any_rank : random_.rank(ranks_);
    const int tag = random_tag();
    const std::optional<Envelope> found = inbox_.probe(source, 1, tag);
    const Model::Early* wanted = model_.probe(source, 1, tag);
    ASSERT_EQ(found.has_value(), wanted != nullptr);
    if (wanted == nullptr) return;
    EXPECT_EQ(found->source, wanted->envelope.source);
    EXPECT_EQ(found->bytes, wanted->envelope.bytes);
  }
  void cancel() {
    if (receives_.empty()) return;
    Message& receive = receives_[random_.below(receives_.size())];
    EXPECT_EQ(inbox_.cancel(receive), model_.cancel(receive));
  }

  Random random_;
  int ranks_;
  std::size_t tags_;
  Inbox inbox_;
  Model model_;
  std::deque<Message> receives_;
  std::uint64_t messages_ = 0;
};

TEST(Inbox, MatchesAsMpiDoes) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomSteps steps(seed, 1 + static_cast<int>(seed % 5), 1 + seed % 3);
    for (int i = 0; i < 500 && !testing::Test::HasFatalFailure(); ++i) steps.step();
    steps.fail();
  }
}

}  // namespace
}  // namespace stretto
