// SPDX-License-Identifier: Apache-2.0
#include "transport/node_memory.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "node.hpp"

namespace stretto {
namespace {

std::byte value_at(int from, int to, std::size_t i) {
  return static_cast<std::byte>(static_cast<std::size_t>(from * 31 + to * 7) + i * 13 + i / 256);
}

/// Writes as much of a stream as there is room for; `done`: bytes so far.
bool write_some(NodeMemory& memory, int lane, int from, int to, std::size_t piece_bytes, std::size_t total,
                std::size_t& done) {
  if (done == total) return false;
  const NodeMemory::Piece piece =
      memory.reserve(lane, std::span(&to, 1), std::min(piece_bytes, total - done));
  if (piece.data == nullptr) return false;
  EXPECT_GT(piece.bytes, 0U);
  for (std::size_t i = 0; i < piece.bytes; ++i) piece.data[i] = value_at(from, to, done + i);
  done += piece.bytes;
  memory.publish(lane, std::span(&to, 1), piece, piece.bytes, done == total ? PieceHead::last : 0);
  return true;
}

bool read_some(NodeMemory& memory, int lane, int from, int to, std::size_t total, std::size_t& done) {
  if (done == total) return false;
  const NodeMemory::Arrival arrival = memory.look(lane, from);
  if (arrival.data == nullptr) return false;
  EXPECT_FALSE(arrival.has_failed);
  bool is_right = true;
  for (std::size_t i = 0; i < arrival.bytes; ++i) {
    is_right = is_right && arrival.data[i] == value_at(from, to, done + i);
  }
  EXPECT_TRUE(is_right) << from << " to " << to << " at " << done;
  done += arrival.bytes;
  EXPECT_EQ(arrival.is_last, done == total);
  memory.take(lane, from);
  return true;
}

TEST(NodeMemory, StreamsOfAllPairsArriveInOrder) {
  constexpr int ranks = 3;
  for (const std::size_t piece_bytes : {1U, 48U, 49U, 4096U, 5000U, 32768U, 100000U}) {
    Node node(ranks);
    const std::size_t total = piece_bytes * 40 + 5;
    const auto run = [&](int own) {
      std::minstd_rand random(static_cast<unsigned>(own) + 1);
      std::array<std::size_t, ranks> written{};
      std::array<std::size_t, ranks> read{};
      const auto ended = [&] {
        for (int other = 0; other < ranks; ++other) {
          const auto i = static_cast<std::size_t>(other);
          if (other != own && (written.at(i) < total || read.at(i) < total)) return false;
        }
        return true;
      };
      while (!ended()) {
        bool any = false;
        for (int other = 0; other < ranks; ++other) {
          const auto i = static_cast<std::size_t>(other);
          if (other == own) continue;
          const int lane = other + own;  // the same number for both ranks
          any = write_some(node[own], lane, own, other, piece_bytes, total, written.at(i)) || any;
          if (random() % 8 == 0) std::this_thread::yield();
          any = read_some(node[own], lane, other, own, total, read.at(i)) || any;
        }
        if (!any) std::this_thread::yield();
      }
    };
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
    for (std::thread& thread : threads) thread.join();
  }
}

/// Each of three ranks sends `pieces` pieces to each other rank, with random waits between any two steps.
void soak(std::uint32_t pieces) {
  constexpr int ranks = 3;
  Node node(ranks);
  const auto run = [&](int own) {
    std::minstd_rand random(static_cast<unsigned>(own) + 7);
    const auto delay = [&] {
      const auto turns = random() % 128;
      if (turns == 0) return std::this_thread::yield();
      for (std::size_t i = 0; i < turns % 32; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    };
    struct Stream {
      std::uint32_t pieces = 0;
      std::size_t bytes = 0;
    };
    std::array<Stream, ranks> written;
    std::array<Stream, ranks> read;
    const auto write_next = [&](int to) {
      Stream& stream = written.at(static_cast<std::size_t>(to));
      if (stream.pieces == pieces) return false;
      const NodeMemory::Piece piece =
          node[own].reserve(own + to, std::array{to}, 1 + random() % (random() % 32 == 0 ? 20000 : 100));
      if (piece.data == nullptr) return false;
      delay();
      for (std::size_t i = 0; i < piece.bytes; ++i) piece.data[i] = value_at(own, to, stream.bytes + i);
      delay();
      node[own].publish(own + to, std::array{to}, piece, piece.bytes, 0);
      delay();
      stream.bytes += piece.bytes;
      ++stream.pieces;
      return true;
    };
    const auto read_next = [&](int from) {
      Stream& stream = read.at(static_cast<std::size_t>(from));
      const NodeMemory::Arrival arrival = node[own].look(from + own, from);
      if (arrival.data == nullptr) return false;
      delay();
      bool is_right = !arrival.has_failed;
      for (std::size_t i = 0; i < arrival.bytes; ++i) {
        is_right = is_right && arrival.data[i] == value_at(from, own, stream.bytes + i);
      }
      EXPECT_TRUE(is_right) << from << " to " << own << ", piece " << stream.pieces;
      delay();
      node[own].take(from + own, from);
      delay();
      stream.bytes += arrival.bytes;
      ++stream.pieces;
      return true;
    };
    const auto ended = [&] {
      for (std::size_t i = 0; i < ranks; ++i) {
        if (static_cast<int>(i) != own && (written.at(i).pieces < pieces || read.at(i).pieces < pieces))
          return false;
      }
      return true;
    };
    while (!ended()) {
      bool any = false;
      for (int other = 0; other < ranks; ++other) {
        if (other == own) continue;
        any = write_next(other) || any;
        any = read_next(other) || any;
      }
      if (!any) std::this_thread::yield();
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
}

TEST(NodeMemory, Soak) {
  soak(5000);
}

/// 10^7 pieces. For make test-all.
TEST(NodeMemory, DISABLED_LongSoak) {
  soak(10'000'000 / 6);
}

/// Other ranks do not see data that a killed rank had not published, and they find that it has ended.
TEST(NodeMemory, ARankThatIsKilledAtAnyStep) {
  constexpr int pieces = 3;
  constexpr int steps = 6;
  const RegionShape shape = RegionShape::make(2, store_bytes);
  for (int last_step = 0; last_step < pieces * steps; ++last_step) {
    std::array<int, 2> up{};
    std::array<int, 2> down{};
    ASSERT_EQ(pipe(up.data()), 0);
    ASSERT_EQ(pipe(down.data()), 0);
    const auto begin = [&](NodeMemory& memory, int place, int out, int in) {
      std::vector<NodeMemory::Owner> owners(2);
      const auto own = static_cast<std::size_t>(place);
      memory.open();
      owners[own] = {getpid(), memory.file(), 1000 + own};
      const bool made = memory.make(shape, place, owners[own].token).empty();
      const auto bytes = static_cast<ssize_t>(sizeof(NodeMemory::Owner));
      const bool told = write(out, &owners[own], sizeof owners[own]) == bytes &&
                        read(in, &owners[1 - own], sizeof owners[own]) == bytes;
      const bool mapped = made && told && memory.map(owners).empty();
      char letter = 'x';  // the other one has mapped it, too
      return mapped && write(out, &letter, 1) == 1 && read(in, &letter, 1) == 1;
    };
    const pid_t child = fork();
    if (child == 0) {
      NodeMemory memory;
      int step = 0;
      const auto done = [&] {
        if (step++ == last_step) raise(SIGKILL);
      };
      if (!begin(memory, 1, up[1], down[0])) _exit(1);
      for (std::size_t i = 0; i < pieces; ++i) {
        done();
        const NodeMemory::Piece piece = memory.reserve(0, std::array{0}, 1000);
        done();
        for (std::size_t k = 0; k < piece.bytes; ++k) piece.data[k] = value_at(1, 0, i * 1000 + k);
        done();
        memory.publish(0, std::array{0}, piece, piece.bytes, 0);
        done();
        while (memory.look(0, 0).data == nullptr) sched_yield();
        done();
        memory.take(0, 0);
        done();
      }
      _exit(1);
    }
    NodeMemory memory;
    ASSERT_TRUE(begin(memory, 0, down[1], up[0]));
    std::size_t written = 0;
    std::size_t bytes = 0;
    while (write_some(memory, 0, 0, 1, 1000, 3000, written)) {
    }
    const auto read_all = [&] {
      while (read_some(memory, 0, 1, 0, 1 << 20, bytes)) {
      }
    };
    while (!memory.has_ended(1)) {
      read_all();
      sched_yield();
    }
    read_all();
    EXPECT_EQ(bytes, static_cast<std::size_t>((last_step + 3) / steps) * 1000)
        << "killed after step " << last_step;
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    for (const int end : {up[0], up[1], down[0], down[1]}) close(end);
  }
}

/// A rank that does not read does not stop messages to a rank that reads.
TEST(NodeMemory, AReaderThatSleepsStopsNoOther) {
  Node node(3);
  // All slots wait for rank 2, on as many lanes as there are.
  for (int lane = 0; lane < node.shape().lanes; ++lane) {
    for (std::size_t done = 0; write_some(node[0], lane, 0, 2, 32768, 1 << 30, done);) {
    }
  }
  std::size_t written = 0;
  std::size_t read = 0;
  while (read < 10000) {
    const bool wrote = write_some(node[0], 0, 0, 1, 4096, 10000, written);
    ASSERT_TRUE(read_some(node[1], 0, 0, 1, 10000, read) || wrote);
  }
}

TEST(NodeMemory, WhatAPeerWroteIsChecked) {
  Node node(2);
  struct Wrong {
    std::uint32_t offset;
    std::size_t bytes;
  };
  for (const auto& [offset, bytes] :
       {Wrong{PieceHead::in_line, 49}, Wrong{store_bytes, 1}, Wrong{store_bytes - 10, 11},
        Wrong{0, store_bytes + 1}, Wrong{UINT32_MAX - 1, 4}}) {
    NodeMemory::Piece piece = node[0].reserve(3, std::array{1}, 8);
    ASSERT_NE(piece.data, nullptr);
    piece.offset = offset;
    node[0].publish(3, std::array{1}, piece, bytes, 0);
    const NodeMemory::Arrival arrival = node[1].look(3, 0);
    EXPECT_TRUE(arrival.has_failed && arrival.is_last && arrival.bytes == 0) << offset << ' ' << bytes;
    node[1].take(3, 0);
  }
}

TEST(NodeMemory, OnlyTheMemoryOfTheJobIsMapped) {
  std::array<NodeMemory, 2> ranks;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks.at(i).open();
    ASSERT_EQ(ranks.at(i).make(RegionShape::make(2, store_bytes), static_cast<int>(i), 7 + i), "");
  }
  const NodeMemory::Owner right{getpid(), ranks[1].file(), 8};
  const auto map = [&](NodeMemory::Owner other) { return ranks[0].map({{0, -1, 0}, other}); };
  EXPECT_NE(map({right.pid, right.file, 9}).find("is not the memory of a rank"), std::string::npos);
  EXPECT_NE(map({right.pid, 0, 8}), "");
  EXPECT_NE(map({right.pid, 9999, 8}).find("No such file"), std::string::npos);
  EXPECT_NE(map({1 << 30, right.file, 8}), "");
  EXPECT_EQ(map(right), "");
}

/// Returns how many bytes of other ranks' memory count for this process.
std::size_t resident_bytes_of_others() {
  std::ifstream file("/proc/self/smaps");
  std::size_t kib = 0;
  bool is_theirs = false;
  for (std::string line; std::getline(file, line);) {
    if (line.find("memfd:stretto") != std::string::npos) is_theirs = line.find(" r--s ") != std::string::npos;
    if (is_theirs && line.starts_with("Rss:")) kib += std::strtoul(line.c_str() + 4, nullptr, 10);
  }
  return kib << 10;
}

/// A job scheduler may add up the memory that counts for each rank.
TEST(NodeMemory, MostOfOthersStoresCountsWhenItIsRead) {
  constexpr std::size_t large = std::size_t{1} << 20;
  constexpr std::size_t count = 6;
  std::array<NodeMemory, count> ranks;
  std::vector<NodeMemory::Owner> owners;
  for (std::size_t i = 0; i < count; ++i) {
    ranks.at(i).open();
    owners.push_back({getpid(), ranks.at(i).file(), 7 + i});
    ASSERT_EQ(ranks.at(i).make(RegionShape::make(count, large), static_cast<int>(i), 7 + i), "");
  }
  for (NodeMemory& rank : ranks) ASSERT_EQ(rank.map(owners), "");
  const std::size_t before = resident_bytes_of_others();
  EXPECT_GE(before, count * large);
  EXPECT_LT(before, count * (count - 1) * large * 2 / 3);  // not all of it
  std::size_t written = 0;
  std::size_t read = 0;
  while (read < large) {
    const bool wrote = write_some(ranks[0], 0, 0, 1, 65536, large, written);
    ASSERT_TRUE(read_some(ranks[1], 0, 0, 1, large, read) || wrote);
  }
  EXPECT_GE(resident_bytes_of_others(), before + large / 2);
}

}  // namespace
}  // namespace stretto
