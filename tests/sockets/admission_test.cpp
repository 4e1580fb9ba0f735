// SPDX-License-Identifier: Apache-2.0
#include "sockets/admission.hpp"

#include <cstring>

#include "frames.hpp"

namespace stretto {
namespace {

using Verdict = Visitor::Verdict;
using std::chrono::seconds;

constexpr int ranks = 5;
constexpr int listener = 2;
constexpr Address address{.family = 4, .port = 4321};

SipKey secret() {
  SipKey key{};
  fill(key, 3);
  return key;
}

Listener listening() {
  static const SipKey key = secret();
  return {.secret = key, .rank = listener, .ranks = ranks, .at = address};
}

Hello good_hello() {
  Hello hello;
  hello.rank = 3;
  hello.ranks = ranks;
  hello.to = listener;
  hello.listens_at = {.family = 4, .port = 1234};
  fill(hello.number, 17);
  return hello;
}

template <typename Value>
Bytes bytes_of(const Value& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}

/// A visitor, and the other end of its connection.
class Visit {
 public:
  Verdict say(std::span<const std::byte> bytes) {
    EXPECT_EQ(put(pair_.one, bytes), bytes.size());
    return look();
  }
  Verdict look() { return visitor_.look(listening()); }
  Verdict hang_up() {
    pair_.one.close();
    return look();
  }
  [[nodiscard]] Bytes answer() const { return get(pair_.one, 1000); }
  [[nodiscard]] Challenge challenge() const {
    Challenge challenge;
    const Bytes bytes = answer();
    EXPECT_EQ(bytes.size(), sizeof(challenge));
    if (bytes.size() == sizeof(challenge)) std::memcpy(&challenge, bytes.data(), sizeof(challenge));
    return challenge;
  }
  Visitor& visitor() { return visitor_; }

 private:
  Pair pair_;
  Visitor visitor_{std::move(pair_.other), Visitor::Clock::now() + seconds(10)};
};

Bytes good_answer(const Hello& hello, const Challenge& challenge, const Address& at = address) {
  return bytes_of(Answer{proof_of(End::maker, secret(), hello, challenge.number, at)});
}

TEST(Visitor, WithTheSecretIsAdmitted) {
  Visit visit;
  const Hello hello = good_hello();
  EXPECT_EQ(visit.look(), Verdict::undecided);
  EXPECT_EQ(visit.say(bytes_of(hello)), Verdict::undecided);
  const Challenge challenge = visit.challenge();
  EXPECT_TRUE(
      are_equal(challenge.proof, proof_of(End::listener, secret(), hello, challenge.number, address)));
  // Bytes after the answer stay in the connection.
  Bytes answer = good_answer(hello, challenge);
  const Bytes more = filled(20, 1);
  answer.insert(answer.end(), more.begin(), more.end());
  EXPECT_EQ(visit.say(answer), Verdict::admitted);
  EXPECT_EQ(visit.visitor().hello().rank, 3);
  EXPECT_EQ(visit.visitor().hello().listens_at, hello.listens_at);
  EXPECT_EQ(get(visit.visitor().socket(), 100), more);
}

TEST(Visitor, MayComeByteByByte) {
  Visit visit;
  const Hello hello = good_hello();
  for (const std::byte byte : bytes_of(hello)) {
    EXPECT_TRUE(visit.answer().empty());
    EXPECT_EQ(visit.say({&byte, 1}), Verdict::undecided);
  }
  const Bytes answer = good_answer(hello, visit.challenge());
  for (std::size_t i = 0; i < answer.size(); ++i)
    EXPECT_EQ(visit.say({&answer[i], 1}), i + 1 < answer.size() ? Verdict::undecided : Verdict::admitted);
}

TEST(Visitor, WithAnotherHelloIsRefused) {
  Hello mark = good_hello();
  mark.mark[7] = '1';
  Hello more_ranks = good_hello();
  more_ranks.ranks = ranks + 1;
  Hello rank = good_hello();
  rank.rank = ranks;
  Hello negative = good_hello();
  negative.rank = 0xffffffff;
  Hello stream = good_hello();
  stream.stream = most_streams;
  Hello other_listener = good_hello();
  other_listener.to = listener + 1;
  for (const Hello& hello : {mark, more_ranks, rank, negative, stream, other_listener}) {
    Visit visit;
    EXPECT_EQ(visit.say(bytes_of(hello)), Verdict::refused);
    EXPECT_TRUE(visit.answer().empty());
  }
}

/// Any bit of the proof matters, and so do its author and the numbers for which it is made.
TEST(Visitor, WithAnotherProofIsRefused) {
  const Hello hello = good_hello();
  for (std::size_t bit = 0; bit < 8 * sizeof(SipTag); ++bit) {
    Visit visit;
    visit.say(bytes_of(hello));
    Bytes answer = good_answer(hello, visit.challenge());
    answer[bit / 8] ^= std::byte(1U << (bit % 8));
    EXPECT_EQ(visit.say(answer), Verdict::refused);
  }
  Visit reflects;
  reflects.say(bytes_of(hello));
  EXPECT_EQ(reflects.say(bytes_of(Answer{reflects.challenge().proof})), Verdict::refused);

  Hello of_other_rank = hello;
  of_other_rank.rank = 2;
  Hello for_other_rank = hello;
  for_other_rank.to = listener + 1;
  Hello for_other_stream = hello;
  for_other_stream.stream = 1;
  for (const Hello& other : {of_other_rank, for_other_rank, for_other_stream}) {
    Visit visit;
    visit.say(bytes_of(hello));
    EXPECT_EQ(visit.say(good_answer(other, visit.challenge())), Verdict::refused);
  }

  Address of_relay = address;
  of_relay.port = 4322;
  Visit passed_on;
  passed_on.say(bytes_of(hello));
  EXPECT_EQ(passed_on.say(good_answer(hello, passed_on.challenge(), of_relay)), Verdict::refused);

  SipKey wrong = secret();
  wrong[15] ^= std::byte{1};
  Visit other_secret;
  other_secret.say(bytes_of(hello));
  const SipTag proof = proof_of(End::maker, wrong, hello, other_secret.challenge().number, address);
  EXPECT_EQ(other_secret.say(bytes_of(Answer{proof})), Verdict::refused);
}

/// The listener's number is new each time.
TEST(Visitor, CannotRepeatWhatAnotherOneSaid) {
  const Hello hello = good_hello();
  Visit first;
  first.say(bytes_of(hello));
  const Challenge challenge = first.challenge();
  const Bytes answer = good_answer(hello, challenge);
  EXPECT_EQ(first.say(answer), Verdict::admitted);
  Visit second;
  second.say(bytes_of(hello));
  EXPECT_NE(second.challenge().number, challenge.number);
  EXPECT_EQ(second.say(answer), Verdict::refused);
}

TEST(Visitor, ThatHangsUpIsRefused) {
  const Bytes hello = bytes_of(good_hello());
  for (std::size_t said = 0; said <= hello.size(); ++said) {
    Visit visit;
    if (said > 0) visit.say(std::span(hello).first(said));
    EXPECT_EQ(visit.hang_up(), Verdict::refused) << said;
  }
  // This also holds before the visitor can be challenged.
  Pair pair;
  put(pair.one, hello);
  pair.one.close();
  Visitor visitor(std::move(pair.other), Visitor::Clock::now());
  EXPECT_EQ(visitor.look(listening()), Verdict::refused);
}

TEST(Visitor, WithNonsenseIsRefused) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Random random(seed);
    Bytes nonsense(random.below(500));
    for (std::byte& byte : nonsense) byte = std::byte(random.below(256));
    // At times, the nonsense has a good beginning.
    const Bytes hello = bytes_of(good_hello());
    if (random.once_in(2))
      std::copy_n(hello.begin(), std::min(nonsense.size(), hello.size()), nonsense.begin());
    Visit visit;
    Verdict verdict = nonsense.empty() ? Verdict::undecided : visit.say(nonsense);
    if (nonsense.size() < hello.size() + sizeof(Answer) && verdict == Verdict::undecided)
      verdict = visit.hang_up();
    EXPECT_EQ(verdict, Verdict::refused) << seed;
  }
}

TEST(Visitor, IsOverdueAfterItsTime) {
  Visit visit;
  EXPECT_FALSE(visit.visitor().is_overdue(Visitor::Clock::now()));
  EXPECT_TRUE(visit.visitor().is_overdue(Visitor::Clock::now() + seconds(11)));
}

}  // namespace
}  // namespace stretto
