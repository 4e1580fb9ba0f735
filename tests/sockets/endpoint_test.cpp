// SPDX-License-Identifier: Apache-2.0
#include "sockets/endpoint.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "job.hpp"

namespace stretto {
namespace {

INSTANTIATE_TEST_SUITE_P(Endpoint, OverStreams, testing::Values(1, 4));

TEST_P(OverStreams, MessagesOfAPairKeepTheirOrder) {
  Job job(2);
  const std::vector<std::size_t> sizes{
      0, 1, 100'000, longest_whole_message, longest_whole_message + 1, 3, 5'000'000, 0};
  std::vector<Transfer> sent;
  std::vector<Transfer> received;
  for (const std::size_t bytes : sizes) {
    sent.push_back(Transfer::sent(1, 1, 5, filled(bytes, sent.size())));
    received.push_back(Transfer::received(0, 1, 5, bytes));
  }
  for (Transfer& one : sent) job.start(0, one);
  for (Transfer& one : received) job.start(1, one);
  ASSERT_TRUE(job.until([&] {
    return std::ranges::all_of(received, &Transfer::is_done) && std::ranges::all_of(sent, &Transfer::is_done);
  })) << job.failures();
  for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT_TRUE(received[i].has(0, filled(sizes[i], i))) << i;
}

/// All connections are used, even if their number changes between messages or while they are busy.
TEST(Endpoint, TheNumberOfStreamsMayChangeAtAnyTime) {
  for (unsigned seed = 0; seed < rounds(4); ++seed) {
    Random random(seed);
    Job job(2);
    job.connect_tree();
    std::vector<Transfer> sent;
    std::vector<Transfer> received;
    for (std::size_t i = 0; i < 60; ++i) {
      Endpoint::use_streams(random.of<int>({0, 1, 2, 5, most_streams, 100}));
      const std::size_t bytes = random.of<std::size_t>(
          {0, 10, longest_whole_of_streams, longest_whole_of_streams + 1, 300'000, 4'000'000});
      sent.push_back(Transfer::sent(0, 1, 5, filled(bytes, i)));
      received.push_back(Transfer::received(1, 1, 5, bytes));
      job.start(1, sent.back());
      job.start(0, received.back());
      for (std::size_t steps = random.below(20); steps > 0; --steps) job.progress();
    }
    ASSERT_TRUE(job.until([&] {
      return std::ranges::all_of(received, &Transfer::is_done) &&
             std::ranges::all_of(sent, &Transfer::is_done);
    })) << job.failures();
    for (std::size_t i = 0; i < sent.size(); ++i)
      EXPECT_TRUE(received[i].has(1, filled(sent[i].message().bytes, i))) << i;
    job.leave(1);
    for (int i = 0; i < 50; ++i) job.progress();
    LimitClock::run_ahead(std::chrono::milliseconds(300));
    for (int i = 0; i < 50; ++i) job.progress();
    ASSERT_EQ(job.failures(), "") << seed;
  }
  Endpoint::use_streams(1);
}

int open_files() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

/// Whether the first connection carries all messages while no files are left for more streams.
bool carries_all_without_files() {
  Job job(2);
  job.connect_tree();
  const int before = open_files();
  const auto some = static_cast<rlim_t>(before) + 20;
  const rlimit limit{.rlim_cur = some, .rlim_max = some};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  std::vector<Socket> all;
  do {
    all.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  } while (all.back());
  Endpoint::use_streams(4);
  Transfer sent = Transfer::sent(0, 1, 5, filled(5'000'000, 1));
  Transfer received = Transfer::received(1, 1, 5, 5'000'000);
  job.start(1, sent);
  job.start(0, received);
  if (!job.until([&] { return received.is_done() && sent.is_done(); })) return false;
  all.clear();
  if (!received.has(1, filled(5'000'000, 1))) return false;
  // The streams are made later.
  if (!job.until([&] { return open_files() == before + 6; })) return false;
  job.leave(1);
  return job.until([&] { return open_files() <= before; }) && job.failures().empty();
}

/// This runs in a process of its own, since a limit cannot be raised again.
TEST(Endpoint, WhereThereAreNoFilesTheFirstConnectionCarriesAll) {
  EXPECT_EXIT(_exit(carries_all_without_files() ? 0 : 1), testing::ExitedWithCode(0), "");
}

/// Connections leave the program its limit of open files, and half of its numbers; children have that limit.
TEST(Endpoint, TheProgramKeepsItsLimitOfFiles) {
  constexpr int ranks = 8;
  Job job(ranks);
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  // Each pair needs a connection in both directions, each of which is two files of this process.
  const rlimit few{.rlim_cur = static_cast<rlim_t>(2 * open_files()), .rlim_max = usual.rlim_max};
  ASSERT_LT(few.rlim_cur, static_cast<rlim_t>(2 * ranks * (ranks - 1)));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<Transfer> sent;
  std::vector<Transfer> received;
  for (int to = 0; to < ranks; ++to) {
    for (int from = 0; from < ranks; ++from) {
      if (from == to) continue;
      sent.push_back(Transfer::sent(to, 1, from, filled(100, 1)));
      received.push_back(Transfer::received(from, 1, from, 100));
      job.start(from, sent.back());
      job.start(to, received.back());
    }
  }
  EXPECT_TRUE(job.until([&] { return std::ranges::all_of(received, &Transfer::is_done); })) << job.failures();
  rlimit now{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, few.rlim_cur);
  EXPECT_EQ(std::system(("test $(ulimit -Sn) = " + std::to_string(few.rlim_cur)).c_str()), 0);
  const Socket of_program(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_TRUE(of_program);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

TEST(Endpoint, ARankSendsToItself) {
  Job job(1);
  for (const bool is_early : {false, true}) {
    for (const std::size_t bytes : {0, 10, 5'000'000}) {
      Transfer sent = Transfer::sent(0, 1, 5, filled(bytes, 1));
      Transfer received = Transfer::received(is_early ? any_rank : 0, 1, 5, bytes);
      job.start(0, is_early ? sent : received);
      EXPECT_EQ(sent.is_done(), is_early);
      EXPECT_FALSE(received.has_ended());
      job.start(0, is_early ? received : sent);
      EXPECT_TRUE(sent.is_done());
      EXPECT_TRUE(received.has(0, filled(bytes, 1)));
    }
  }
}

TEST_P(OverStreams, TooLongMessagesAreCut) {
  for (const bool is_early : {false, true}) {
    for (const int from : {0, 1}) {
      Job job(2);
      for (const std::size_t bytes :
           {std::size_t{100}, std::size_t{200'000}, longest_whole_message, std::size_t{5'000'000}}) {
        for (const std::size_t room : {std::size_t{0}, std::size_t{1}, bytes / 2, bytes - 1}) {
          Transfer sent = Transfer::sent(1, 1, 5, filled(bytes, 1));
          Transfer received = Transfer::received(from, 1, 5, room);
          if (!is_early) job.start(1, received);
          job.start(from, sent);
          if (is_early) {
            job.until([&] { return job[1].probe(from, 1, 5).has_value(); });
            job.start(1, received);
          }
          ASSERT_TRUE(job.until([&] { return received.is_done() && sent.is_done(); })) << job.failures();
          EXPECT_TRUE(received.has(from, filled(bytes, 1))) << bytes << " into " << room;
        }
      }
    }
  }
}

/// A message that is being read when its receive is posted.
TEST_P(OverStreams, AReceiveMayComeInTheMiddleOfItsMessage) {
  Job job(2);
  const Bytes data = filled(longest_whole_message, 1);
  for (int i = 0; i < static_cast<int>(rounds(200)); ++i) {
    Transfer sent = Transfer::sent(1, 1, 5, data);
    Transfer received =
        Transfer::received(i % 2 == 0 ? 0 : any_rank, 1, 5, i % 3 == 0 ? data.size() / 2 : data.size());
    job.start(0, sent);
    const int polls = i % 20;
    job.until([&] {
      job[0].progress();
      return job[1].probe(0, 1, 5).has_value();
    });
    for (int poll = 0; poll < polls; ++poll) job.progress();
    job.start(1, received);
    ASSERT_TRUE(job.until([&] { return received.is_done() && sent.is_done(); })) << job.failures();
    EXPECT_TRUE(received.has(0, data)) << i;
  }
}

/// Whole messages are sent as long as there is credit, and the others wait where they are.
TEST(Endpoint, EarlyMessagesHaveABound) {
  struct Case {
    std::size_t bytes;
    std::size_t count;
  };
  for (const auto& [bytes, count] : {Case{100'000, 100}, {longest_whole_message, 12}, {0, 40'000}}) {
    Job job(2);
    std::vector<Transfer> sent;
    std::vector<Transfer> received;
    for (std::size_t i = 0; i < count; ++i) {
      sent.push_back(Transfer::sent(1, 1, 5, filled(bytes, i)));
      received.push_back(Transfer::received(0, 1, 5, bytes));
      job.start(0, sent.back());
    }
    Transfer last = Transfer::sent(1, 1, 6, filled(1, 0));
    job.start(0, last);
    ASSERT_TRUE(job.until([&] { return job[1].probe(0, 1, 6).has_value(); }));
    for (int i = 0; i < 100; ++i) job.progress();
    const auto done = static_cast<std::size_t>(std::ranges::count_if(sent, &Transfer::is_done));
    EXPECT_LT(done, count);
    EXPECT_LE(done * (bytes + 128), most_credit);
    EXPECT_GT((done + 1) * (bytes + 128), most_credit);
    for (Transfer& one : received) job.start(1, one);
    ASSERT_TRUE(job.until([&] { return std::ranges::all_of(received, &Transfer::is_done); }))
        << job.failures();
    for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(received[i].has(0, filled(bytes, i))) << i;
    // The credit comes back.
    Transfer more = Transfer::sent(1, 1, 5, filled(bytes, 1));
    job.start(0, more);
    EXPECT_TRUE(job.until([&] { return more.is_done(); }));
  }
}

/// So a sender goes on without asking, however much it has sent.
TEST(Endpoint, CreditComesBackForMessagesThatAreAwaited) {
  constexpr std::size_t bytes = 100'000;
  Job job(2);
  for (std::size_t i = 0; i < 3 * most_credit / bytes; ++i) {
    Transfer received = Transfer::received(0, 1, 5, bytes);
    job.start(1, received);
    Transfer sent = Transfer::sent(1, 1, 5, filled(bytes, i));
    job.start(0, sent);
    ASSERT_TRUE(job.until([&] { return received.is_done() && sent.is_done(); })) << job.failures();
  }
  // Nobody waits for these yet. A sender that has lost credit never has more than half of it.
  std::size_t done = 0;
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<Transfer> sent;
    std::vector<Transfer> received;
    for (std::size_t i = 0; i < most_credit / bytes * 3 / 4; ++i) {
      sent.push_back(Transfer::sent(1, 1, 6, filled(bytes, i)));
      received.push_back(Transfer::received(0, 1, 6, bytes));
      job.start(0, sent.back());
    }
    Transfer last = Transfer::sent(1, 1, 7, {});
    job.start(0, last);
    ASSERT_TRUE(job.until([&] { return job[1].probe(0, 1, 7).has_value(); }));
    for (int i = 0; i < 100; ++i) job.progress();
    done = static_cast<std::size_t>(std::ranges::count_if(sent, &Transfer::is_done));
    Transfer end = Transfer::received(0, 1, 7, 0);
    job.start(1, end);
    for (Transfer& one : received) job.start(1, one);
    ASSERT_TRUE(job.until([&] { return end.is_done() && std::ranges::all_of(received, &Transfer::is_done); }))
        << job.failures();
  }
  EXPECT_GT(done * bytes, most_credit / 10 * 6);
}

TEST(Endpoint, ACancelledReceiveGetsNothing) {
  Job job(2);
  Transfer taken_back = Transfer::received(0, 1, 5, 100);
  Transfer received = Transfer::received(0, 1, 5, 100);
  job.start(1, taken_back);
  job.start(1, received);
  EXPECT_TRUE(job[1].cancel(taken_back.message()));
  EXPECT_FALSE(job[1].cancel(taken_back.message()));
  Transfer sent = Transfer::sent(1, 1, 5, filled(100, 3));
  job.start(0, sent);
  ASSERT_TRUE(job.until([&] { return received.is_done(); }));
  EXPECT_TRUE(received.has(0, filled(100, 3)));
  EXPECT_FALSE(job[1].cancel(received.message()));
  EXPECT_FALSE(taken_back.has_ended());
  EXPECT_FALSE(job[0].cancel(sent.message()));
}

/// A receive that has begun to get its message cannot be cancelled.
TEST(Endpoint, AReceiveCannotBeCancelledInTheMiddle) {
  Job job(2);
  Transfer sent = Transfer::sent(1, 1, 5, filled(20'000'000, 3));
  Transfer received = Transfer::received(0, 1, 5, 20'000'000);
  job.start(0, sent);
  ASSERT_TRUE(job.until([&] { return job[1].probe(any_rank, 1, 5).has_value(); }));
  job.start(1, received);
  EXPECT_FALSE(job[1].probe(any_rank, 1, 5));
  EXPECT_FALSE(job[1].cancel(received.message()));
  ASSERT_TRUE(job.until([&] { return received.is_done(); }));
  EXPECT_TRUE(received.has(0, filled(20'000'000, 3)));
}

TEST(Endpoint, AProbeSeesWhatAReceiveWouldGet) {
  Job job(3);
  EXPECT_FALSE(job[2].probe(any_rank, 1, 5));
  Transfer first = Transfer::sent(2, 1, 5, filled(10, 1));
  Transfer second = Transfer::sent(2, 1, 5, filled(5'000'000, 2));
  job.start(0, first);
  ASSERT_TRUE(job.until([&] { return job[2].probe(0, 1, 5).has_value(); }));
  job.start(1, second);
  ASSERT_TRUE(job.until([&] { return job[2].probe(1, 1, 5).has_value(); }));
  EXPECT_EQ(job[2].probe(any_rank, 1, 5)->source, 0);
  EXPECT_EQ(job[2].probe(any_rank, 1, 5)->bytes, 10);
  EXPECT_EQ(job[2].probe(1, 1, 5)->bytes, 5'000'000);
  EXPECT_FALSE(job[2].probe(any_rank, 2, 5));
  EXPECT_FALSE(job[2].probe(any_rank, 1, 6));
  EXPECT_FALSE(job[2].probe(2, 1, 5));
}

TEST_P(OverStreams, MessagesWaitForAnAddress) {
  Job job(2, Job::Knows::nobody);
  Transfer sent = Transfer::sent(1, 1, 5, filled(10, 1));
  Transfer received = Transfer::received(0, 1, 5, 10);
  job.start(0, sent);
  job.start(1, received);
  for (int i = 0; i < 1000; ++i) job.progress();
  EXPECT_FALSE(sent.has_ended());
  job.tell(0, 1);
  ASSERT_TRUE(job.until([&] { return received.is_done(); })) << job.failures();
  // Rank 1 has learned where rank 0 listens.
  Transfer back = Transfer::sent(0, 1, 5, filled(10, 2));
  Transfer received_back = Transfer::received(1, 1, 5, 10);
  job.start(0, received_back);
  job.start(1, back);
  ASSERT_TRUE(job.until([&] { return received_back.is_done(); })) << job.failures();
}

/// The work of one thread of a rank: messages in a context of its own. Receives may be posted in another
/// order than the messages come.
class Worker {
 public:
  struct Planned {
    int from;
    int to;
    int tag;
    std::size_t bytes;
    std::size_t seed;
  };
  Worker(Endpoint& endpoint, std::uint64_t context, const std::vector<Planned>& plan, unsigned seed)
      : endpoint_(endpoint), context_(context), random_(seed) {
    for (const Planned& one : plan) {
      if (one.from == endpoint.rank()) to_send_.push_back(one);
      if (one.to == endpoint.rank()) to_receive_.push_back(one);
    }
    std::ranges::reverse(to_send_);
    takes_any_ = context % 2 == 1;
  }

  void run() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (!to_send_.empty() || !to_receive_.empty() ||
           !std::ranges::all_of(started_, &Transfer::has_ended)) {
      if (std::chrono::steady_clock::now() > end) return;
      switch (random_.below(3)) {
        case 0:
          send_next();
          break;
        case 1:
          receive_next();
          break;
        default:
          for (std::size_t polls = random_.below(10); polls > 0; --polls) endpoint_.progress();
      }
    }
  }
  /// Checks what has come, when all is done.
  void expect_all() {
    ASSERT_TRUE(to_send_.empty() && to_receive_.empty());
    ASSERT_TRUE(std::ranges::all_of(started_, &Transfer::is_done));
    for (const auto& [transfer, tag] : posted_) {
      const Message& message = started_[transfer].message();
      // The first message of this source and tag that has not been checked yet.
      const auto found = std::ranges::find_if(
          expected_, [&](const Planned& one) { return one.from == message.source && one.tag == tag; });
      ASSERT_NE(found, expected_.end());
      EXPECT_TRUE(started_[transfer].has(found->from, filled(found->bytes, found->seed)))
          << "from " << found->from << " to " << found->to << ", " << found->bytes << " bytes";
      expected_.erase(found);
    }
    EXPECT_TRUE(expected_.empty());
  }

 private:
  void send_next() {
    if (to_send_.empty()) return;
    const Planned next = to_send_.back();
    to_send_.pop_back();
    started_.push_back(Transfer::sent(next.to, context_, next.tag, filled(next.bytes, next.seed)));
    endpoint_.start(started_.back().message());
  }
  void receive_next() {
    if (to_receive_.empty()) return;
    // Receives of one source and tag are posted in order. The source and tag are chosen at random.
    const Planned any = to_receive_[random_.below(to_receive_.size())];
    const auto next = std::ranges::find_if(
        to_receive_, [&](const Planned& one) { return one.from == any.from && one.tag == any.tag; });
    const std::size_t room = takes_any_ ? most_bytes : random_.once_in(8) ? next->bytes / 2 : next->bytes + 3;
    posted_.emplace_back(started_.size(), next->tag);
    expected_.push_back(*next);
    started_.push_back(Transfer::received(takes_any_ ? any_rank : next->from, context_, next->tag, room));
    endpoint_.start(started_.back().message());
    to_receive_.erase(next);
  }

 public:
  static constexpr std::size_t most_bytes = 5'000'000;

 private:
  Endpoint& endpoint_;
  std::uint64_t context_;
  Random random_;
  bool takes_any_ = false;
  std::vector<Planned> to_send_;
  std::vector<Planned> to_receive_;
  std::vector<Transfer> started_;
  std::vector<std::pair<std::size_t, int>> posted_;
  std::vector<Planned> expected_;
};

std::vector<Worker::Planned> random_plan(Random& random, int ranks, std::size_t count) {
  std::vector<Worker::Planned> plan(count);
  for (auto& one : plan) {
    const std::size_t below =
        random.of<std::size_t>({1, 100, 3000, 200'000, 200'000, longest_whole_message + 2});
    const bool is_long = random.once_in(12);
    one = {.from = random.rank(ranks),
           .to = random.rank(ranks),
           .tag = static_cast<int>(random.below(2)),
           .bytes = is_long ? random.below(Worker::most_bytes) : random.below(below),
           .seed = random.below(1000)};
  }
  return plan;
}

void exchange_randomly(Job& job, int threads_of_rank, std::size_t messages_of_thread, unsigned seed) {
  Random random(seed);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int thread = 0; thread < threads_of_rank; ++thread) {
    const auto plan = random_plan(random, job.ranks(), messages_of_thread);
    for (int rank = 0; rank < job.ranks(); ++rank)
      workers.push_back(std::make_unique<Worker>(job[rank], static_cast<std::uint64_t>(thread) + 1, plan,
                                                 seed * 1000 + static_cast<unsigned>(workers.size())));
  }
  std::vector<std::thread> threads;
  for (const auto& worker : workers) threads.emplace_back([&worker] { worker->run(); });
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(job.failures(), "");
  for (const auto& worker : workers) worker->expect_all();
}

TEST_P(OverStreams, ManyMessagesGoInAllDirections) {
  for (unsigned seed = 0; seed < rounds(4); ++seed) {
    Job job(3 + static_cast<int>(seed));
    exchange_randomly(job, 1, 120, seed);
  }
}

TEST_P(OverStreams, ThreadsOfARankDoNotDisturbEachOther) {
  for (unsigned seed = 10; seed < 10 + rounds(2); ++seed) {
    Job job(3);
    exchange_randomly(job, 4, 60, seed);
  }
}

TEST_P(OverStreams, RanksLeaveInAnyOrder) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    Random random(seed);
    Job job(5, seed % 2 == 0 ? Job::Knows::all : Job::Knows::parent);
    if (seed % 2 == 0) {
      exchange_randomly(job, 1, 20, seed);
    } else {
      job.connect_tree();
    }
    std::vector<int> left{0, 1, 2, 3, 4};
    while (!left.empty()) {
      const std::size_t index = random.below(left.size());
      // It waits for no rank that makes no progress.
      const auto began = std::chrono::steady_clock::now();
      job.leave(left[index]);
      ASSERT_LT(std::chrono::steady_clock::now() - began, Job::patience) << seed;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(index));
      for (int i = 0; i < 50; ++i) job.progress();
      LimitClock::run_ahead(std::chrono::milliseconds(seed == 4 ? 300 : 1));
      for (int i = 0; i < 50; ++i) job.progress();
      ASSERT_EQ(job.failures(), "") << seed;
    }
  }
}

TEST_P(OverStreams, RanksLeaveAtTheSameTime) {
  for (unsigned seed = 0; seed < rounds(5); ++seed) {
    Job job(5);
    exchange_randomly(job, 1, 20, 100 + seed);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < job.ranks(); ++rank)
      threads.emplace_back([&job, rank] { job[rank].leave(20); });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(job.failures(), "");
  }
}

/// Messages of a rank arrive even after it has left, and if the other rank reads them late and answers while
/// it reads.
TEST(Endpoint, WhatWasSentArrivesAfterTheSenderHasLeft) {
  for (const std::size_t bytes : {std::size_t{400'000}, longest_whole_message - 128}) {
    Job job(2);
    // This makes the connection.
    job.connect_tree();
    std::vector<Transfer> sent;
    std::vector<Transfer> received;
    for (std::size_t i = 0; i < (most_credit - 1000) / (bytes + 128); ++i) {
      received.push_back(Transfer::received(1, 1, 5, bytes));
      job.start(0, received.back());
      sent.push_back(Transfer::sent(0, 1, 5, filled(bytes, i)));
      job.start(1, sent.back());
    }
    // The rank sends as much as the system accepts.
    std::thread leaves([&] {
      job[1].leave(20);
      EXPECT_TRUE(std::ranges::all_of(sent, &Transfer::is_done));
      job.kill(1);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    while (!std::ranges::all_of(received, &Transfer::is_done) && job[0].failure() == nullptr) {
      job[0].progress();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    leaves.join();
    EXPECT_EQ(job.failures(), "");
    for (std::size_t i = 0; i < received.size(); ++i) EXPECT_TRUE(received[i].has(1, filled(bytes, i))) << i;
  }
}

/// A farewell counts even if the other connection has ended long before the farewell is read.
TEST_P(OverStreams, AFarewellMayBeReadLate) {
  Job job(2);
  job.connect_tree();
  Transfer greeting = Transfer::sent(1, 1, 6, filled(1, 1));
  Transfer greeted = Transfer::received(0, 1, 6, 1);
  job.start(0, greeting);
  job.start(1, greeted);
  ASSERT_TRUE(job.until([&] { return greeted.is_done(); }));
  std::vector<Transfer> sent;
  for (int i = 0; i < 9; ++i) {
    sent.push_back(Transfer::sent(0, 1, 5, filled(250'000, 1)));
    job.start(1, sent.back());
  }
  job[1].leave(1);
  job.kill(1);
  job[0].progress();
  for (int i = 0; i < 3; ++i) {
    LimitClock::run_ahead(std::chrono::milliseconds(300));
    job[0].progress();
  }
  EXPECT_TRUE(job.until([&] { return job[0].probe(1, 1, 5).has_value(); }));
  EXPECT_EQ(job.failures(), "");
}

/// A rank that has left needs no messages, so messages to it count as done.
TEST_P(OverStreams, MessagesToARankThatHasLeftEnd) {
  Job job(3);
  exchange_randomly(job, 1, 20, 5);
  Transfer sent = Transfer::sent(1, 9, 5, filled(5'000'000, 1));
  job.start(0, sent);
  job.leave(1);
  ASSERT_TRUE(job.until([&] { return sent.is_done(); }));
  Transfer more = Transfer::sent(1, 9, 5, filled(5'000'000, 1));
  job.start(0, more);
  EXPECT_TRUE(more.is_done());
  for (int i = 0; i < 100; ++i) job.progress();
  EXPECT_EQ(job.failures(), "");
}

TEST_P(OverStreams, AReceiveFromARankThatHasLeftFails) {
  for (const bool is_posted : {true, false}) {
    Job job(3);
    job.connect_tree();
    Transfer received = Transfer::received(2, 9, 5, 10);
    if (is_posted) job.start(0, received);
    job.leave(2);
    for (int i = 0; i < 100; ++i) job.progress();
    if (!is_posted) {
      EXPECT_EQ(job.failures(), "");
      job.start(0, received);
    }
    ASSERT_TRUE(job.until([&] { return received.has_failed(); }));
    EXPECT_EQ(received.reason(), "rank 2 has left the job");
    EXPECT_EQ(job.failures(), "");
  }
}

/// As long as any rank may still send, a receive from any rank waits.
TEST(Endpoint, AReceiveFromAnyFailsWhenAllHaveLeft) {
  for (const bool is_posted : {true, false}) {
    Job job(3);
    job.connect_tree();
    Transfer received = Transfer::received(any_rank, 9, 5, 10);
    if (is_posted) job.start(0, received);
    job.leave(1);
    for (int i = 0; i < 100; ++i) job.progress();
    EXPECT_EQ(job.failures(), "");
    Transfer last = Transfer::sent(0, 9, 6, filled(10, 1));
    job.start(2, last);
    job.leave(2);
    Transfer of_last = Transfer::received(any_rank, 9, 6, 10);
    if (!is_posted) {
      for (int i = 0; i < 100; ++i) job.progress();
      // The messages that were sent before are there.
      ASSERT_TRUE(job.until([&] { return job[0].probe(any_rank, 9, 6).has_value(); }));
      job.start(0, of_last);
      ASSERT_TRUE(job.until([&] { return of_last.has_ended(); }));
      EXPECT_TRUE(of_last.has(2, filled(10, 1)));
      EXPECT_EQ(job.failures(), "");
      job.start(0, received);
    }
    ASSERT_TRUE(job.until([&] { return received.has_failed(); }, 5));
    EXPECT_EQ(received.reason(),
              "all other ranks have ended, and this rank waits for a message from any of them");
  }
}

/// A rank that sees a process of its node end may be the last one to learn why.
TEST(Endpoint, AnEndThatIsExplainedHasThatReason) {
  for (const bool is_explained : {true, false}) {
    Job job(2);
    job.connect_tree();
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      if (is_explained) job[1].fail("rank 1 has had enough");
    });
    job[0].note_ended(1, "its process has ended");
    other.join();
    EXPECT_STREQ(job[0].why_ended(1),
                 is_explained ? "rank 1 has had enough" : "rank 1 is lost: its process has ended");
  }
}

/// On a slow link, no bytes are left behind as long as some of them leave.
TEST_P(OverStreams, ARankWaitsForAsLongAsItsBytesLeave) {
  constexpr std::size_t bytes = 20'000'000;  // more than the system keeps
  Job job(2);
  job.connect_tree();
  Transfer sent = Transfer::sent(0, 1, 5, filled(bytes, 1));
  Transfer received = Transfer::received(1, 1, 5, bytes);
  job.start(1, sent);
  job.start(0, received);
  ASSERT_TRUE(job.until([&] { return received.message().arrived > 0; }));
  std::thread leaves([&] {
    job[1].leave(0.5);
    job[1].close();
    job.kill(1);
  });
  const auto began = std::chrono::steady_clock::now();
  while (!received.has_ended()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    job[0].progress();
  }
  EXPECT_GT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1));
  leaves.join();
  EXPECT_EQ(job.failures(), "");
  EXPECT_TRUE(received.has(1, filled(bytes, 1)));
}

/// A rank that cannot wait leaves messages behind. Their receives end.
TEST_P(OverStreams, AMessageThatItsSenderLeftBehindFails) {
  for (const bool is_wanted : {false, true}) {
    Job job(2);
    job.connect_tree();
    Transfer sent = Transfer::sent(0, 9, 5, filled(20'000'000, 1));
    Transfer received = Transfer::received(1, 9, 5, 20'000'000);
    job.start(1, sent);
    ASSERT_TRUE(job.until([&] { return job[0].probe(1, 9, 5).has_value(); }));
    if (is_wanted) {
      job.start(0, received);
      for (int i = 0; i < 4; ++i) job.progress();
    }
    job[1].leave(0.01);
    job[1].close();
    EXPECT_TRUE(sent.has_failed());
    job.kill(1);
    for (int i = 0; i < 100; ++i) job.progress();
    if (!is_wanted) {
      EXPECT_EQ(job.failures(), "");
      job.start(0, received);
    }
    ASSERT_TRUE(job.until([&] { return received.has_failed(); }, 5)) << is_wanted;
    // Its farewell may be behind the part that did not get through.
    EXPECT_TRUE(received.reason() == "rank 1 has left the job" ||
                (is_wanted && received.reason() == "rank 1 is lost: its connection was closed"))
        << received.reason();
  }
}

/// A rank that gives everything up ends its own messages and those that need it, and no others. All hear of
/// it although only neighbours in the tree are connected.
TEST_P(OverStreams, AFailureConcernsThoseWhoNeedTheRank) {
  constexpr int ranks = 13;
  for (int first = 0; first < ranks; ++first) {
    Job job(ranks, Job::Knows::parent);
    job.connect_tree();
    std::vector<Transfer> waiting;
    std::vector<Transfer> others;
    for (int rank = 0; rank < ranks; ++rank) {
      waiting.push_back(Transfer::received(first, 1, 1, 10));
      job.start(rank, waiting.back());
      others.push_back(Transfer::received(rank == ranks - 1 ? any_rank : ranks - 1, 1, 2, 10));
      job.start(rank, others.back());
    }
    const std::string reason = "rank " + std::to_string(first) + " has had enough";
    job[first].fail(reason);
    job[first].fail("for another reason");
    EXPECT_STREQ(job[first].failure(), reason.c_str());
    EXPECT_TRUE(others[static_cast<std::size_t>(first)].has_failed());
    ASSERT_TRUE(job.until([&] { return job.know_end(first, reason); })) << job.failures();
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(waiting[static_cast<std::size_t>(rank)].reason(), reason);
      Transfer more = Transfer::sent(first, 1, 1, filled(1, 1));
      job.start(rank, more);
      EXPECT_EQ(more.reason(), reason);
      if (rank == first || first == ranks - 1) continue;
      EXPECT_FALSE(others[static_cast<std::size_t>(rank)].has_ended())
          << others[static_cast<std::size_t>(rank)].reason();
      EXPECT_EQ(job[rank].failure(), nullptr);
    }
    // Then they may leave.
    for (int rank = 0; rank < ranks; ++rank) job.leave(rank);
  }
}

/// The end of a process by an exception is news, although the rank leaves as others do.
TEST_P(OverStreams, AReasonToLeaveReachesAll) {
  constexpr int ranks = 13;
  for (int first = 0; first < ranks; ++first) {
    Job job(ranks, Job::Knows::parent);
    job.connect_tree();
    const std::string reason = "rank " + std::to_string(first) + " has ended: ValueError";
    job.leave(first, reason);
    ASSERT_TRUE(job.until([&] { return job.know_end(first, reason); })) << first << ": " << job.failures();
  }
}

TEST(Endpoint, AFailureHasAnyText) {
  for (const std::string& reason :
       {std::string(1, 'x'), std::string(longest_reason, 'y'), std::string(5 * longest_reason, 'z')}) {
    Job job(3, Job::Knows::parent);
    job.connect_tree();
    job[1].fail(reason);
    EXPECT_TRUE(job.until([&] { return job.know_end(1, reason.substr(0, longest_reason)); }, 5))
        << reason.size() << " characters: " << job.failures();
  }
}

/// A rank that ends in a group ends its messages of this group there. Those of other groups go on, and so do
/// those of the group between other ranks.
TEST_P(OverStreams, TheEndInAGroupConcernsThatGroup) {
  constexpr std::uint64_t group = 8;
  constexpr std::uint64_t its_other_context = 9;
  constexpr std::uint64_t other_group = 10;
  Job job(4, Job::Knows::parent);
  job.connect_tree();
  std::vector<Transfer> failing;
  std::vector<Transfer> going_on;
  const auto receive = [&](std::vector<Transfer>& among, int rank, int from, std::uint64_t context) {
    among.push_back(Transfer::received(from, context, 1, 10));
    job.start(rank, among.back());
  };
  for (const std::uint64_t context : {group, its_other_context}) {
    receive(failing, 1, 0, context);
    receive(failing, 1, any_rank, context);
    receive(failing, 0, 1, context);
    receive(failing, 3, 1, context);
    receive(going_on, 2, 3, context);
  }
  receive(going_on, 0, 1, other_group);
  receive(going_on, 1, 0, other_group);
  EXPECT_EQ(job[0].news(), 0);
  job[1].end_in(its_other_context, 7, "its time was over");
  ASSERT_TRUE(job.until([&] { return std::ranges::all_of(failing, &Transfer::has_failed); }, 10));
  for (const Transfer& one : failing) EXPECT_EQ(one.reason(), "its time was over");
  EXPECT_TRUE(std::ranges::none_of(going_on, &Transfer::has_ended));
  ASSERT_TRUE(job.until([&] { return job[2].end_of(group).has_value(); }, 10));
  EXPECT_EQ(job[2].end_of(group)->from, 7);
  EXPECT_EQ(job[2].end_of(group)->rank, 1);
  EXPECT_FALSE(job[2].end_of(other_group));
  Transfer late = Transfer::sent(1, group, 1, filled(10, 1));
  job.start(3, late);
  EXPECT_EQ(late.reason(), "its time was over");
  for (int from : {0, 1}) {
    Transfer sent = Transfer::sent(1 - from, other_group, 1, filled(10, 1));
    job.start(from, sent);
    ASSERT_TRUE(job.until([&] { return sent.has_ended(); }));
  }
  ASSERT_TRUE(job.until([&] { return going_on[2].is_done() && going_on[3].is_done(); }));
  EXPECT_EQ(job.failures(), "");
}

/// A message of any kind can be taken back in any state. Its memory is free then, and messages of others go
/// on.
TEST_P(OverStreams, AMessageCanBeTakenBackInTheMiddle) {
  for (int polls = 0; polls < static_cast<int>(rounds(24)); ++polls) {
    Job job(2);
    job.connect_tree();
    std::vector<Transfer> sent;
    std::vector<Transfer> received;
    const std::vector<std::size_t> lengths{20'000'000, 10, 1'000'000, 5'000'000, 100'000};
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      for (const std::uint64_t group : {2, 4}) {
        sent.push_back(Transfer::sent(0, group, static_cast<int>(i), filled(lengths[i], group)));
        job.start(1, sent.back());
        received.push_back(Transfer::received(1, group, static_cast<int>(i), lengths[i]));
        if (polls % 2 == 0) job.start(0, received.back());
      }
    }
    for (int i = 0; i < polls; ++i) job.progress();
    if (polls % 2 == 1) {
      for (Transfer& one : received) job.start(0, one);
    }
    for (std::size_t i = 0; i < sent.size(); i += 2) {
      if (polls % 3 != 0) job[1].abort(sent[i].message(), "taken back");
      job[0].abort(received[i].message(), "taken back");
      EXPECT_TRUE(received[i].has_ended());
      EXPECT_TRUE(polls % 3 == 0 || sent[i].has_ended());
    }
    for (std::size_t i = 0; i < sent.size(); i += 2) {
      if (sent[i].has_ended()) sent[i] = Transfer::sent(0, 2, 99, {});
      received[i] = Transfer::received(1, 2, 99, 0);
    }
    ASSERT_TRUE(job.until([&] {
      for (std::size_t i = 1; i < sent.size(); i += 2) {
        if (!received[i].is_done() || !sent[i].is_done()) return false;
      }
      return true;
    })) << polls
        << job.failures();
    for (std::size_t i = 1; i < sent.size(); i += 2)
      EXPECT_TRUE(received[i].has(1, filled(lengths[i / 2], 4)));
    EXPECT_EQ(job.failures(), "");
    for (int rank = 0; rank < 2; ++rank) {
      job[rank].fail("enough");
    }
  }
}

/// A rank may end at once when its messages are sent. All of them arrive, however slowly they are taken.
TEST_P(OverStreams, WhatIsSentArrivesAlthoughTheSenderEndsAtOnce) {
  constexpr int messages = 60;
  constexpr std::size_t bytes = 200'000;
  Job job(2);
  job.connect_tree();
  std::vector<Transfer> sent;
  std::vector<Transfer> received;
  for (int i = 0; i < messages; ++i) {
    sent.push_back(Transfer::sent(0, 2, i, filled(bytes, static_cast<std::uint64_t>(i))));
    job.start(1, sent.back());
    received.push_back(Transfer::received(1, 2, i, bytes));
    job.start(0, received.back());
  }
  ASSERT_TRUE(job.until([&] { return std::ranges::all_of(sent, &Transfer::has_ended); }));
  job.kill(1);
  ASSERT_TRUE(job.until([&] { return std::ranges::all_of(received, &Transfer::has_ended); }));
  for (int i = 0; i < messages; ++i)
    EXPECT_TRUE(received[static_cast<std::size_t>(i)].has(1, filled(bytes, static_cast<std::uint64_t>(i))))
        << i << ": " << received[static_cast<std::size_t>(i)].reason();
}

/// A rank that waits for another one notices its end, even if nobody can tell it.
TEST(Endpoint, AnEndIsNoticedWithoutConnections) {
  Job job(3);
  Transfer received = Transfer::received(1, 2, 3, 10);
  job.start(0, received);
  for (int i = 0; i < 10; ++i) job.progress();
  job.kill(1);
  ASSERT_TRUE(job.until([&] { return received.has_failed(); }));
  EXPECT_EQ(received.reason().find("rank 1 is lost: "), 0) << received.reason();
}

/// A group, or everything, ends on this rank if its limit is over.
TEST(Endpoint, ALimitEndsAGroup) {
  Job job(2);
  job.connect_tree();
  Transfer of_group = Transfer::received(1, 2, 3, 10);
  Transfer of_other = Transfer::received(1, 4, 3, 10);
  job.start(0, of_group);
  job.start(0, of_other);
  job[0].limit(4, 0.01, "never");
  job[0].spare(4);
  job[0].limit(2, 0.05, "too late");
  ASSERT_TRUE(job.until([&] { return of_group.has_failed(); }));
  EXPECT_EQ(of_group.reason(), "too late");
  EXPECT_FALSE(of_other.has_ended());
  job[0].limit(News::everything, 0.05, "much too late");
  ASSERT_TRUE(job.until([&] { return of_other.has_failed(); }));
  EXPECT_STREQ(job[0].failure(), "much too late");
}

/// Messages of all kinds end, and their memory is free.
TEST_P(OverStreams, AFailureEndsMessagesInTheMiddle) {
  for (int polls = 0; polls < static_cast<int>(rounds(12)); ++polls) {
    Job job(2);
    job.connect_tree();
    std::vector<Transfer> sent;
    std::vector<Transfer> received;
    for (const std::size_t bytes : {20'000'000, 10, 1'000'000, 5'000'000, 100'000}) {
      for (const int tag : {1, 2}) {
        sent.push_back(Transfer::sent(0, 1, tag, filled(bytes, 1)));
        job.start(1, sent.back());
        if (tag == 2) continue;
        received.push_back(Transfer::received(1, 1, tag, bytes));
        job.start(0, received.back());
      }
    }
    for (int i = 0; i < polls; ++i) job.progress();
    if (polls % 3 == 1) job.start(0, received.emplace_back(Transfer::received(1, 1, 2, 20'000'000)));
    job[polls % 2].fail("enough");
    ASSERT_TRUE(job.until([&] { return job.know_end(polls % 2, "enough"); })) << job.failures();
    EXPECT_TRUE(std::ranges::all_of(sent, &Transfer::has_ended));
    EXPECT_TRUE(std::ranges::all_of(received, &Transfer::has_ended));
    sent.clear();
    received.clear();
    for (int i = 0; i < 50; ++i) job.progress();
    for (int rank = 0; rank < 2; ++rank) job[rank].leave(20);
  }
}

/// All ranks learn of a lost rank, whichever rank it is, and whichever ranks are connected with it.
TEST_P(OverStreams, ALostRankIsNoticedByAll) {
  constexpr int ranks = 8;
  for (int lost = 0; lost < ranks; ++lost) {
    Job job(ranks, Job::Knows::parent);
    job.connect_tree();
    for (int i = 0; i < 100; ++i) job.progress();
    job.kill(lost);
    const std::string beginning = "rank " + std::to_string(lost) + " is lost: ";
    EXPECT_TRUE(job.until([&] { return job.know_end(lost, beginning); })) << job.failures();
  }
}

TEST_P(OverStreams, APeerIsLostInTheMiddleOfALongMessage) {
  for (const bool sender_dies : {true, false}) {
    for (int polls = 0; polls < static_cast<int>(rounds(8)); ++polls) {
      Job job(2);
      Transfer sent = Transfer::sent(1, 1, 5, filled(20'000'000, 1));
      Transfer received = Transfer::received(0, 1, 5, 20'000'000);
      job.start(0, sent);
      job.start(1, received);
      ASSERT_TRUE(job.until([&] { return received.message().arrived > 0; }));
      for (int i = 0; i < polls; ++i) job.progress();
      ASSERT_FALSE(received.has_ended());
      job.kill(sender_dies ? 0 : 1);
      Transfer& left = sender_dies ? received : sent;
      ASSERT_TRUE(job.until([&] { return left.has_ended(); }));
      if (sender_dies || sent.has_failed()) {
        ASSERT_TRUE(job.until([&] { return job.failures() != ""; }));
        EXPECT_EQ(job.failures().find(sender_dies ? "rank 0 is lost: " : "rank 1 is lost: "), 0)
            << job.failures();
      }
    }
  }
}

/// Rank 0 sends to rank 1, but the test listens at the address that rank 0 knows.
struct InPlaceOfRank1 {
  InPlaceOfRank1() {
    job.start(0, sent);
    job[0].set_address(1, at);
  }
  Job job{2, Job::Knows::nobody};
  Address at = loopback();
  Socket listener = listen_at(at);
  Transfer sent = Transfer::sent(1, 1, 5, filled(10, 1));
};

/// A program that is not part of the job answers at the address of a rank.
TEST(Endpoint, AFalseListenerIsNotBelieved) {
  InPlaceOfRank1 test;
  auto& [job, at, listener, sent] = test;
  Socket visitor;
  ASSERT_TRUE(job.until([&] {
    if (!visitor) visitor = Socket(accept4(listener.file(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    return visitor && get(visitor, sizeof(Hello)).size() == sizeof(Hello);
  }));
  put_value(visitor, Challenge{});
  ASSERT_TRUE(job.until([&] { return sent.has_failed(); }));
  EXPECT_EQ(sent.reason(), "rank 1 is lost: a process that is not of this job answers at its address");
}

/// A listener that has too many visitors closes connections.
TEST_P(OverStreams, ARankThatIsSentAwayTriesAgain) {
  InPlaceOfRank1 test;
  auto& [job, at, listener, sent] = test;
  int visits = 0;
  ASSERT_TRUE(job.until([&] {
    const Socket visitor(accept4(listener.file(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    return visitor && ++visits == 3;
  }));
  EXPECT_EQ(job.failures(), "");
}

/// Whether a process that may have `files` open can open one more, after half as many strangers have come.
bool has_file_left(rlim_t files) {
  const rlimit limit{.rlim_cur = files, .rlim_max = files};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  Job job(1);
  std::vector<Socket> strangers;
  SystemAddress to(job.addresses[0]);
  for (rlim_t i = 0; i < files / 2; ++i) {
    strangers.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    connect(strangers.back().file(), to.get(), to.length);
  }
  for (int i = 0; i < 100; ++i) job.progress();
  return static_cast<bool>(Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
}

/// This runs in a process of its own, since a limit cannot be raised again.
TEST(Endpoint, StrangersGetAQuarterOfTheFiles) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP()
      << "the sanitizer opens pipes to look at memory, and takes one that it cannot open for a fault";
#endif
  EXPECT_EXIT(_exit(has_file_left(100) ? 0 : 1), testing::ExitedWithCode(0), "");
}

/// Whatever strangers do at the listeners, the ranks find each other.
TEST(Endpoint, StrangersDoNotKeepOthersOut) {
  Job job(2);
  std::vector<Socket> strangers;
  SystemAddress to(job.addresses[1]);
  for (int i = 0; i < 700; ++i) {
    strangers.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    connect(strangers.back().file(), to.get(), to.length);
    if (i % 2 == 0) put(strangers.back(), filled(sizeof(Hello) / 2, 1));
    if (i % 5 == 0) put(strangers.back(), filled(5000, 1));
    if (i % 100 == 0) job.progress();
  }
  Transfer sent = Transfer::sent(1, 1, 5, filled(10, 1));
  Transfer received = Transfer::received(0, 1, 5, 10);
  job.start(0, sent);
  job.start(1, received);
  ASSERT_TRUE(job.until([&] { return received.is_done(); })) << job.failures();
}

/// A rank ends after each number of steps of a census, and then another one. Who is left has one result, and
/// only who has ended is left out.
TEST(Endpoint, ACensusHasOneResultWhenRanksEnd) {
  constexpr int ranks = 5;
  const CensusId id{.group = 8, .number = 3};
  for (int first = 0; first < ranks; ++first) {
    for (int steps = 0; steps < 40; steps += 1 + steps / 8) {
      Job job(ranks);
      job.connect_tree();
      const int second = (first + 1 + steps % (ranks - 1)) % ranks;
      for (int rank = 0; rank < ranks; ++rank) job[rank].begin_census(id, {0, 1, 2, 3, 4}, {});
      for (int step = 0; step < steps; ++step) job[(step * 3 + first) % ranks].progress();
      const auto before = job[second].census_state(id).result;
      job.kill(first);
      for (int step = 0; step < steps; ++step) {
        if (step % ranks != first) job[step % ranks].progress();
      }
      job.kill(second);
      std::optional<CensusValue> agreed = before;
      const auto all_have = [&] {
        for (int rank = 0; rank < ranks; ++rank) {
          if (rank == first || rank == second) continue;
          const auto result = job[rank].census_state(id).result;
          if (!result) return false;
          if (!agreed) agreed = result;
          EXPECT_EQ(*result, *agreed) << "rank " << rank << ", after " << steps;
        }
        return true;
      };
      ASSERT_TRUE(job.until(all_have)) << first << ", " << second << ", after " << steps;
      for (const int rank : agreed->without) EXPECT_TRUE(rank == first || rank == second);
    }
  }
}

}  // namespace
}  // namespace stretto
