// SPDX-License-Identifier: Apache-2.0
#include "engine/packing/data_runs.hpp"

#include <algorithm>
#include <cstring>

#include "engine/data/buffer_pool.hpp"
#include "engine/messages/channel.hpp"
#include "engine/packing/packing.hpp"

namespace stretto {

/// The MPI library unpacks an element of ones into zeros, so that no rule of its datatypes is repeated here.
std::vector<Range> runs_of_element(MPI_Datatype datatype) {
  const std::size_t bytes = signature_bytes(datatype).value_or(0);
  if (bytes == 0) return {};
  if (is_flat(datatype)) return {{0, bytes}};
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  mpi.Type_get_true_extent(datatype, &lower_bound, &extent);
  const auto spanned = static_cast<std::size_t>(extent);
  constexpr std::byte data{0xff};
  const PooledBuffer memory(spanned);
  std::byte* const begin = memory.data();
  std::byte* const end = begin + spanned;
  std::memset(begin, 0, spanned);
  PackedElements element(begin - lower_bound, 1, datatype, channel_pool().comm());
  std::memset(element.data(), std::to_integer<int>(data), bytes);
  if (element.unpack() != MPI_SUCCESS) return {{0, spanned}};

  std::vector<Range> runs;
  for (std::byte* at = std::find(begin, end, data); at != end;) {
    std::byte* const behind = std::find(at, end, std::byte{0});
    runs.push_back({static_cast<std::size_t>(at - begin), static_cast<std::size_t>(behind - at)});
    at = std::find(behind, end, data);
  }
  return runs;
}

void add_runs(std::vector<Range>& runs, std::span<const Range> of_one, std::ptrdiff_t first,
              std::size_t count, std::ptrdiff_t extent) {
  const auto add = [&](std::size_t element, const Range& run) {
    const std::ptrdiff_t begin = first + static_cast<std::ptrdiff_t>(element) * extent;
    const std::size_t place = static_cast<std::size_t>(begin) + run.first;
    if (!runs.empty() && runs.back().first + runs.back().count == place) {
      runs.back().count += run.count;
    } else {
      runs.push_back({place, run.count});
    }
  };
  // Runs at equal distances from each other are one copy, so the longer loop is the inner one.
  if (of_one.size() < count) {
    for (const Range& run : of_one) {
      for (std::size_t i = 0; i < count; ++i) add(i, run);
    }
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      for (const Range& run : of_one) add(i, run);
    }
  }
}

}  // namespace stretto
