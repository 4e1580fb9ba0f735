// SPDX-License-Identifier: Apache-2.0
// Connections that break though both ranks live: they are made again, and nothing is lost or comes twice.
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "job.hpp"

namespace stretto {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns the connected sockets of this process: both ends of all connections.
std::vector<int> connected_sockets() {
  std::vector<int> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int file = std::stoi(entry.path().filename());
    sockaddr_storage name{};
    socklen_t length = sizeof(name);
    const bool is_connected = getpeername(file, reinterpret_cast<sockaddr*>(&name), &length) == 0;
    if (is_connected && name.ss_family == AF_INET) files.push_back(file);
  }
  return files;
}

/// Returns those of them that belong to the ranks which made the connections, and send over them.
std::vector<int> sending_sockets(Job& job) {
  std::vector<int> files = connected_sockets();
  std::erase_if(files, [&](int file) {
    sockaddr_in name{};
    socklen_t length = sizeof(name);
    return getsockname(file, reinterpret_cast<sockaddr*>(&name), &length) != 0 ||
           job.ports.contains(ntohs(name.sin_port));
  });
  return files;
}

/// Ends a connection as the network may end it: both sides see a reset, and what is on its way is lost. So is
/// what has arrived at this end and was not read, which only a node that ends loses.
void break_connection(int file) {
  const sockaddr nowhere{.sa_family = AF_UNSPEC, .sa_data = {}};
  EXPECT_EQ(connect(file, &nowhere, sizeof(nowhere)), 0);
}

/// Messages between all pairs of ranks, of random lengths.
class Traffic {
 public:
  Traffic(Job& job, Random& random) : job_(job) {
    for (int from = 0; from < job.ranks(); ++from) {
      for (int to = 0; to < job.ranks(); ++to) {
        for (std::size_t i = 0; from != to && i < 3; ++i) {
          const std::size_t bytes = random.of<std::size_t>({0, 1, 100, 70'000, 1'100'000, 5'000'000});
          sent_.push_back(Transfer::sent(to, 2, 5, filled(bytes, sent_.size())));
          received_.push_back(Transfer::received(from, 2, 5, bytes));
          ranks_.push_back({from, to});
        }
      }
    }
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      job_.start(ranks_[i].from, sent_[i]);
      job_.start(ranks_[i].to, received_[i]);
    }
  }
  [[nodiscard]] bool has_ended() const {
    return std::ranges::all_of(sent_, &Transfer::has_ended) &&
           std::ranges::all_of(received_, &Transfer::has_ended);
  }
  /// Whether each message has arrived or failed, and how many have failed.
  [[nodiscard]] bool is_right(std::size_t& failed) const {
    bool right = true;
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      failed += received_[i].has_failed() ? 1 : 0;
      right = right && (received_[i].has_failed() ||
                        received_[i].has(ranks_[i].from, filled(sent_[i].message().bytes, i)));
    }
    return right;
  }

 private:
  struct Ranks {
    int from;
    int to;
  };
  Job& job_;
  std::vector<Transfer> sent_;
  std::vector<Transfer> received_;
  std::vector<Ranks> ranks_;
};

using Broken = OverStreams;
INSTANTIATE_TEST_SUITE_P(Connections, Broken, testing::Values(1, 4));

TEST_P(Broken, WhileNothingIsOnItsWayTheyAreMadeAgain) {
  for (unsigned seed = 0; seed < rounds(8); ++seed) {
    Random random(seed);
    Job job(3);
    for (int time = 0; time < 5; ++time) {
      std::size_t failed = 0;
      const Traffic traffic(job, random);
      ASSERT_TRUE(job.until([&] { return traffic.has_ended(); })) << job.failures();
      ASSERT_TRUE(traffic.is_right(failed) && failed == 0) << job.failures();
      while (job.progress()) {
      }
      for (const int file : connected_sockets()) {
        if (!random.once_in(3)) break_connection(file);
      }
      // Sometimes, ranks look before they send, and not all of them at the same time.
      for (std::size_t looks = random.below(4); looks > 0; --looks) job[random.rank(3)].progress();
    }
    EXPECT_EQ(job.failures(), "") << seed;
  }
}

TEST_P(Broken, WithSeveralRailsAllMessagesArrive) {
  for (unsigned seed = 0; seed < rounds(100); ++seed) {
    Random random(seed);
    Job job(2 + random.rank(2), Job::Knows::all, 2 + random.rank(2));
    // The first messages come before ranks know each other's rails.
    std::size_t failed = 0;
    const Traffic first(job, random);
    ASSERT_TRUE(job.until([&] { return first.has_ended(); }) && first.is_right(failed)) << job.failures();
    const Traffic traffic(job, random);
    for (std::size_t times = 1 + random.below(4); times > 0; --times) {
      for (std::size_t steps = random.below(200); steps > 0; --steps) job.progress();
      for (const int file : sending_sockets(job)) {
        if (random.once_in(2)) break_connection(file);
      }
    }
    ASSERT_TRUE(job.until([&] { return traffic.has_ended(); })) << seed << job.failures();
    ASSERT_TRUE(traffic.is_right(failed)) << seed;
    ASSERT_EQ(failed, 0) << seed << job.failures();
  }
}

TEST_P(Broken, WhatANodeLosesEndsMessagesAndMakesNoneWrong) {
  std::size_t whole = 0;
  for (unsigned seed = 0; seed < rounds(40); ++seed) {
    Random random(seed);
    Job job(2);
    const Traffic traffic(job, random);
    for (std::size_t steps = random.below(200); steps > 0; --steps) job.progress();
    for (const int file : connected_sockets()) {
      if (random.once_in(2)) break_connection(file);
    }
    ASSERT_TRUE(job.until([&] { return traffic.has_ended(); })) << seed << job.failures();
    std::size_t failed = 0;
    ASSERT_TRUE(traffic.is_right(failed)) << seed;
    whole += failed == 0 ? 1 : 0;
    if (failed > 0) {
      EXPECT_NE(job.failures().find("and data on its way is lost"), std::string::npos) << job.failures();
    }
  }
  EXPECT_GT(whole, 0U);
}

TEST_P(Broken, ByTheEndOfARankTheOthersKnowSoon) {
  for (unsigned seed = 0; seed < rounds(8); ++seed) {
    Random random(seed);
    Job job(3);
    job.connect_tree();
    for (const int file : connected_sockets()) break_connection(file);
    if (random.once_in(2)) job.progress();
    job.kill(1);
    const auto begin = Clock::now();
    Transfer received = Transfer::received(1, 1, 5, 10);
    job.start(0, received);
    ASSERT_TRUE(job.until([&] { return received.has_failed() && job.know_end(1, "rank 1 is lost"); }));
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10)) << seed;
  }
}

}  // namespace
}  // namespace stretto
