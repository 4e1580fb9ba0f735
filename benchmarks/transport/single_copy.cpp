// SPDX-License-Identifier: Apache-2.0
// Measures what the kernel's copy from process to process (cross-memory attach) would give a broadcast of two
// ranks of a node, beside the way by a store that both see. Two processes on a core each take three ways in
// turns:
//   store  the writer copies pieces into a store, and the reader from there: two copies, at the same time
//   one    the reader copies all of it (process_vm_readv): one copy
//   both   the reader copies one half, and the writer the other one (process_vm_writev)
// Hot: every copy has the same buffers. Cold: copies walk through more memory than caches hold.
#include <sched.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "kernels/reduce.hpp"
#include "threads/relax.hpp"
#include "transport/piece_size.hpp"

namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20;
constexpr std::size_t area_bytes = 3 * most_bytes;
constexpr std::size_t store_bytes = std::size_t{2} << 20;
constexpr std::uint64_t pieces_ahead = 4;
constexpr double seconds_of_size = 0.5;

enum Way : std::size_t { store, one, both, ways };
constexpr std::array<const char*, ways> names{"store", "one", "both"};

struct Shared {
  struct alignas(64) Side {
    std::atomic<std::uint64_t> arrived;
    alignas(64) std::atomic<std::uint64_t> pieces;  // written, or taken
    alignas(64) std::byte* area;
    pid_t pid;
  };
  std::array<Side, 2> side;
  std::atomic<bool> goes_on;
  alignas(64) std::array<std::byte, store_bytes> room;
};

void fail(const char* what) {
  std::perror(what);
  std::exit(EXIT_FAILURE);
}

void* map(std::size_t bytes, int sharing) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  std::memset(memory, 1, bytes);
  return memory;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Process {
 public:
  Process(Shared& shared, bool reads)
      : shared_(shared), reads_(reads), own_(shared.side.at(reads)), other_(shared.side.at(!reads)) {
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(reads ? 1 : 0, &core);
    sched_setaffinity(0, sizeof core, &core);
    own_.area = static_cast<std::byte*>(map(area_bytes, MAP_PRIVATE));
    own_.pid = getpid();
    meet();
  }

  /// Returns the median time of each way.
  std::array<double, ways> measure(std::size_t bytes, bool is_cold) {
    std::array<std::vector<double>, ways> times;
    const double end = now() + seconds_of_size;
    do {
      for (std::size_t way = 0; way < ways; ++way) {
        at_ = is_cold && at_ + 2 * bytes <= area_bytes ? at_ + bytes : 0;
        meet();
        const double begin = now();
        move(static_cast<Way>(way), bytes);
        meet();
        times.at(way).push_back(now() - begin);
      }
      if (!reads_) shared_.goes_on = now() < end;
      meet();
    } while (shared_.goes_on);
    std::array<double, ways> medians{};
    for (std::size_t way = 0; way < ways; ++way) {
      std::ranges::nth_element(times.at(way),
                               times.at(way).begin() + static_cast<std::ptrdiff_t>(times.at(way).size() / 2));
      medians.at(way) = times.at(way)[times.at(way).size() / 2];
    }
    return medians;
  }

 private:
  static void wait(const std::atomic<std::uint64_t>& count, std::uint64_t least) {
    while (count.load(std::memory_order_acquire) < least) stretto::relax();
  }

  void meet() {
    own_.arrived.store(++meetings_, std::memory_order_release);
    wait(other_.arrived, meetings_);
  }

  void move(Way way, std::size_t bytes) {
    if (way == store) return pass_by_store(bytes);
    const std::size_t half = way == both ? bytes / 2 : bytes;
    if (reads_) {
      copy_from_process(at_, half);
    } else if (half < bytes) {
      copy_to_process(at_ + half, bytes - half);
    }
  }

  void pass_by_store(std::size_t bytes) {
    static const stretto::kernels::Copy copy = stretto::kernels::find_copy();
    const std::size_t most = stretto::bytes_of_piece(bytes);
    for (std::size_t done = 0; done < bytes; done += most) {
      const std::size_t length = std::min(most, bytes - done);
      if (place_ + length > store_bytes) place_ = 0;
      std::byte* piece = shared_.room.data() + place_;
      ++pieces_;
      wait(other_.pieces, reads_ ? pieces_ : pieces_ - std::min(pieces_, pieces_ahead));
      if (reads_) {
        copy(own_.area + at_ + done, piece, length);
      } else {
        copy(piece, own_.area + at_ + done, length);
      }
      own_.pieces.store(pieces_, std::memory_order_release);
      place_ += length;
    }
  }

  void copy_from_process(std::size_t at, std::size_t bytes) {
    const iovec here{own_.area + at, bytes};
    const iovec there{other_.area + at, bytes};
    if (process_vm_readv(other_.pid, &here, 1, &there, 1, 0) != static_cast<ssize_t>(bytes))
      fail("process_vm_readv");
  }
  void copy_to_process(std::size_t at, std::size_t bytes) {
    const iovec here{own_.area + at, bytes};
    const iovec there{other_.area + at, bytes};
    if (process_vm_writev(other_.pid, &here, 1, &there, 1, 0) != static_cast<ssize_t>(bytes))
      fail("process_vm_writev");
  }

  Shared& shared_;
  bool reads_;
  Shared::Side& own_;
  Shared::Side& other_;
  std::uint64_t meetings_ = 0;
  std::uint64_t pieces_ = 0;
  std::size_t place_ = 0;
  std::size_t at_ = 0;
};

}  // namespace

int main() {
  alarm(120);
  auto& shared = *new (map(sizeof(Shared), MAP_SHARED)) Shared{};
  const pid_t child = fork();
  if (child < 0) fail("fork");
  const bool reads = child == 0;
  Process process(shared, reads);
  if (!reads) std::printf("%10s  %-4s %10s %10s %10s   us\n", "bytes", "", names[0], names[1], names[2]);
  for (const bool is_cold : {false, true}) {
    for (std::size_t bytes = std::size_t{16} << 10; bytes <= most_bytes; bytes *= 4) {
      const std::array<double, ways> times = process.measure(bytes, is_cold);
      if (reads) continue;
      std::printf("%10zu  %-4s %10.2f %10.2f %10.2f\n", bytes, is_cold ? "cold" : "hot", 1e6 * times[store],
                  1e6 * times[one], 1e6 * times[both]);
    }
  }
  if (reads) return EXIT_SUCCESS;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
