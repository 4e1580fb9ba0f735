// SPDX-License-Identifier: Apache-2.0
// Ranks with several rails. tests/python/interpose/test_rails.py cuts real ones.
#include "sockets/rails.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <map>

#include "job.hpp"

namespace stretto {
namespace {

using namespace std::chrono_literals;

/// Returns the number of established connections of this process at each rail, both ends.
std::map<int, int> connections_by_rail(const Job& job) {
  std::map<int, int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    sockaddr_in name{};
    socklen_t length = sizeof(name);
    const int file = std::stoi(entry.path().filename());
    if (getpeername(file, reinterpret_cast<sockaddr*>(&name), &length) == 0 && name.sin_family == AF_INET &&
        job.ports.contains(ntohs(name.sin_port)))
      ++found[static_cast<int>(ntohl(name.sin_addr.s_addr) & 0xFF) - 1];
  }
  return found;
}

TEST(Rails, LongMessagesGoOverAll) {
  for (const int rails : {1, 2, 3, 4}) {
    for (const int streams : {1, 2, 4}) {
      Endpoint::use_streams(streams);
      Job job(2, Job::Knows::all, rails);
      for (int time = 0; time < 3; ++time) {
        Transfer sent = Transfer::sent(1, 2, 5, filled(5'000'000, 1));
        Transfer received = Transfer::received(0, 2, 5, 5'000'000);
        job.start(0, sent);
        job.start(1, received);
        ASSERT_TRUE(job.until([&] { return received.has_ended() && sent.has_ended(); }));
        ASSERT_TRUE(received.has(0, filled(5'000'000, 1)));
      }
      const int each = (streams + rails - 1) / rails;  // and the receiver may have made one connection back
      ASSERT_TRUE(job.until([&] {
        const std::map<int, int> found = connections_by_rail(job);
        return static_cast<int>(found.size()) == rails && std::ranges::all_of(found, [&](const auto& one) {
                 return one.second == each || (one.first == 0 && one.second == each + 1);
               });
      }));
    }
  }
  Endpoint::use_streams(1);
}

TEST(Rails, RanksUseThoseThatBothHave) {
  Job job(2);
  Address more = loopback(1);
  job[0].add_rail(listen_at(more), more);
  Transfer sent = Transfer::sent(1, 2, 5, filled(5'000'000, 1));
  Transfer received = Transfer::received(0, 2, 5, 5'000'000);
  job.start(0, sent);
  job.start(1, received);
  ASSERT_TRUE(job.until([&] { return received.has_ended() && sent.has_ended(); }));
  EXPECT_TRUE(received.has(0, filled(5'000'000, 1)));
  EXPECT_EQ(job.failures(), "");
}

/// A rail is silent if packets wait, again and again, and none of them is answered.
TEST(RailTrial, KnowsSilence) {
  const RailTrial::Clock::time_point begin{};
  RailTrial trial;
  trial.note_beginning();
  trial.note_made();
  EXPECT_FALSE(trial.is_silent(begin, true, 100, 1ms));
  EXPECT_FALSE(trial.is_silent(begin + 10s, true, 100, 1ms)) << "nobody looked meanwhile";
  EXPECT_FALSE(trial.is_silent(begin + 10s + 100ms, true, 100, 1ms));
  EXPECT_TRUE(trial.is_silent(begin + 10s + 200ms, true, 100, 1ms));
  EXPECT_FALSE(trial.is_silent(begin + 10s + 200ms, true, 100, 100ms)) << "a round trip takes long";
  EXPECT_FALSE(trial.is_silent(begin + 11s, false, 100, 1ms)) << "nothing waits";
  EXPECT_FALSE(trial.is_silent(begin + 12s, true, 101, 1ms)) << "an answer has come";
}

TEST(RailTrial, HasMorePatienceEachTime) {
  RailTrial::Clock::time_point now{};
  RailTrial trial;
  auto last = 0ms;
  for (int time = 0; time < 4; ++time) {
    trial.note_beginning();
    auto patience = 0ms;
    while (!trial.is_silent(now, true, 0, 0ms)) {
      patience += 10ms;
      now += 10ms;
    }
    EXPECT_GT(patience, last + last / 2);
    last = patience;
  }
}

/// A rail that is out of order is tried less and less often. A connection over it shows that it works.
TEST(RailTrial, FindsThatARailCarriesAgain) {
  Address at = loopback();
  const Socket listener = listen_at(at);
  bool works = false;
  int tries = 0;
  const auto open = [&] {
    ++tries;
    Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    SystemAddress to(at);
    if (works) static_cast<void>(connect(socket.file(), to.get(), to.length));
    return socket;
  };
  RailTrial trial;
  auto now = RailTrial::Clock::now();
  for (int look = 0; look < 300; ++look, now += 100ms) EXPECT_FALSE(trial.carries(now, open));
  EXPECT_GE(tries, 4);
  EXPECT_LE(tries, 8);
  works = true;
  bool carries = false;
  for (int look = 0; look < 400 && !carries; ++look, now += 100ms) carries = trial.carries(now, open);
  EXPECT_TRUE(carries);
}

TEST(RailRate, IsThatOfBusyTime) {
  const RailRate::Clock::time_point now{};
  RailRate rate;
  EXPECT_FALSE(rate.at(now));
  rate.note(now, {.delivered = 1000, .busy = 0.05});
  EXPECT_FALSE(rate.at(now)) << "a short message whose answer came late";
  rate.note(now, {.delivered = 1'000'000, .busy = 0.1});
  EXPECT_NEAR(*rate.at(now), 1e7, 1);
  rate.note(now, {.delivered = 1'900'000, .busy = 0.11});
  EXPECT_NEAR(*rate.at(now), 1e7, 1) << "what an idle link carries at once";
  rate.note(now, {.delivered = 3'000'000, .busy = 0.2});
  EXPECT_NEAR(*rate.at(now), 2e7, 1);
  for (int i = 1; i < 50; ++i) {
    const double busy = 0.2 + i;
    rate.note(now, {.delivered = 3'000'000 + static_cast<std::uint64_t>(i) * 1'000'000, .busy = busy});
  }
  EXPECT_NEAR(*rate.at(now), 1e6, 1e5) << "the link has become slower";
}

TEST(RailRate, GrowsWhileNothingIsMeasured) {
  const RailRate::Clock::time_point now{};
  RailRate rate;
  rate.note(now, {.delivered = 1'000'000, .busy = 0.1});
  EXPECT_NEAR(*rate.at(now + 1s), 1.6e8, 1e3);
  rate.note_beginning();  // the connection is made again, and the kernel counts from 0
  rate.note(now + 1s, {.delivered = 1'000'000, .busy = 0.1});
  EXPECT_NEAR(*rate.at(now + 1s), 1e7, 1);
}

}  // namespace
}  // namespace stretto
