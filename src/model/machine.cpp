// SPDX-License-Identifier: Apache-2.0
#include "model/machine.hpp"

#include <algorithm>
#include <cmath>

#include "transport/piece_size.hpp"

namespace stretto {
namespace {

constexpr double line_bytes = 64;

/// Whether a message needs no room in a store.
bool fits_into_line(double message_bytes) {
  return message_bytes <= static_cast<double>(Line::room);
}

/// Returns the last entry that begins at this many bytes or below. The list ascends by `from`, and its first
/// entry is from 0.
template <typename Row>
const Row& row_for(const std::vector<Row>& rows, std::size_t bytes) {
  const auto beyond = std::upper_bound(rows.begin() + 1, rows.end(), bytes,
                                       [](std::size_t size, const Row& row) { return size < row.from; });
  return *(beyond - 1);
}

}  // namespace

const Protocol& Machine::protocol(Level level, std::size_t bytes) const {
  return row_for(levels[static_cast<std::size_t>(level)], bytes);
}

Limit Machine::limit_of(int which, int nodes) const {
  Limit limit = node;
  if (node_rates.size() == static_cast<std::size_t>(nodes)) {
    limit.bandwidth = node_rates[static_cast<std::size_t>(which)];
  }
  return limit;
}

double Machine::reduction_seconds(std::size_t vector_bytes) const {
  return reduction.empty() ? 0 : 1 / row_for(reduction, vector_bytes).bandwidth;
}

double SharedMemory::pieces(double message_bytes) {
  const auto piece = static_cast<double>(bytes_of_piece(static_cast<std::size_t>(message_bytes)));
  return std::max(std::ceil(message_bytes / piece), 1.0);
}

double SharedMemory::overhead(double message_bytes) const {
  return pieces(message_bytes) * (fits_into_line(message_bytes) ? line.value_or(piece) : piece);
}

double SharedMemory::write_seconds(double message_bytes, std::size_t vector_bytes) const {
  return overhead(message_bytes) + message_bytes / row_for(write, vector_bytes).bandwidth;
}

double SharedMemory::read_seconds(double message_bytes, std::size_t vector_bytes, Distance distance) const {
  return overhead(message_bytes) + std::max(message_bytes / row_for(read, vector_bytes).bandwidth,
                                            passing_seconds(message_bytes, distance));
}

double SharedMemory::reduce_seconds(double message_bytes, std::size_t vector_bytes, Distance distance) const {
  return overhead(message_bytes) + std::max(message_bytes / row_for(reduce, vector_bytes).bandwidth,
                                            passing_seconds(message_bytes, distance));
}

double SharedMemory::passing_seconds(double message_bytes, Distance distance) const {
  const double bandwidth = lines_at(distance).bandwidth;
  if (bandwidth == 0) return 0;
  // Each piece has a line of its own, which holds the piece's bytes if they fit.
  return (pieces(message_bytes) * line_bytes + (fits_into_line(message_bytes) ? 0 : message_bytes)) /
         bandwidth;
}

}  // namespace stretto
