// SPDX-License-Identifier: Apache-2.0
// Messages of more bytes or elements than an int counts, in numbers that no power of two divides. The memory
// is that of the results: pages that nobody has written take none.
#pragma once

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace {

constexpr std::size_t beyond_int = (std::size_t{1} << 31) + 5;

/// Zeros, but for marks at the ends and beside the border of an int.
class SparseBytes {
 public:
  explicit SparseBytes(std::size_t bytes) : bytes_(bytes), data_(map(bytes)) { CHECK(data_ != MAP_FAILED); }
  SparseBytes(const SparseBytes&) = delete;
  SparseBytes& operator=(const SparseBytes&) = delete;
  ~SparseBytes() { munmap(data_, bytes_); }

  [[nodiscard]] std::uint8_t* at(std::size_t begin) const {
    return static_cast<std::uint8_t*>(data_) + begin;
  }
  /// Sets the marks of a part that begins there.
  void set_marks(std::size_t begin, std::uint8_t value) const {
    for (const std::size_t mark : marks) at(begin)[mark] = value;
  }
  void check_marks(std::size_t begin, std::uint8_t value, const std::string& what) const {
    for (const std::size_t mark : marks) CHECK(at(begin)[mark] == value, what);
    CHECK(at(begin)[1] == 0 && at(begin)[marks[1] - 1] == 0, what);
  }

 private:
  static constexpr std::array marks{std::size_t{0}, (std::size_t{1} << 31) - 1, std::size_t{1} << 31,
                                    beyond_int - 1};
  static void* map(std::size_t bytes) {
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }

  std::size_t bytes_;
  void* data_;
};

/// Of two ranks, rank 0 gets the long messages.
void check_long_messages(stretto_group* group, int rank) {
  const bool gets = rank == 0;
  constexpr double patience = 800;
  {
    const SparseBytes data(beyond_int);
    if (!gets) data.set_marks(0, 7);
    wait_for(gets ? CALL(stretto_group_recv)(group, data.at(0), beyond_int, 1, 5)
                  : CALL(stretto_group_send)(group, data.at(0), beyond_int, 0, 5),
             "send", patience);
    data.check_marks(0, 7, "send");
  }
  {
    const std::array<std::size_t, 2> sent{gets ? 3 : beyond_int, 1};
    const std::array<std::size_t, 2> received{gets ? 3 : std::size_t{1}, gets ? beyond_int : std::size_t{1}};
    const SparseBytes in(sent[0] + sent[1]);
    const SparseBytes out(received[0] + received[1]);
    if (!gets) in.set_marks(0, 9);
    wait_for(CALL(stretto_group_alltoallv)(group, in.at(0), sent.data(), out.at(0), received.data()),
             "alltoallv", patience);
    if (gets) out.check_marks(3, 9, "alltoallv");
  }
  {
    const std::array<std::size_t, 2> counts{beyond_int, 3};
    const SparseBytes in(beyond_int + 3);
    const SparseBytes out(counts.at(static_cast<std::size_t>(rank)));
    in.set_marks(0, static_cast<std::uint8_t>(3 + rank));
    wait_for(CALL(stretto_group_reduce_scatter)(group, in.at(0), out.at(0), counts.data(), STRETTO_UINT8,
                                                STRETTO_SUM),
             "reduce_scatter", patience);
    if (gets) out.check_marks(0, 7, "reduce_scatter");
  }
}

}  // namespace
