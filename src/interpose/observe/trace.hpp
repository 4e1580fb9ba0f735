// SPDX-License-Identifier: Apache-2.0
// STRETTO_TRACE=DIR: every rank writes DIR/rank-N.json for Perfetto and chrome://tracing. It shows when
// the rank was in which collective, segment and round, and when it reduced and copied, on rank 0's clock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/data/segment_copies.hpp"
#include "engine/execution/execution.hpp"
#include "interpose/communicators/communicator.hpp"
#include "interpose/session/call_traits.hpp"

namespace stretto {

/// Begins the trace, and compares the clocks. Collective over MPI_COMM_WORLD.
void begin_trace();
/// Compares the clocks again, and writes the file. Collective over MPI_COMM_WORLD. If it cannot write,
/// returns one line with the reason; otherwise an empty one.
std::string end_trace();

/// A call in the trace, which lasts as long as this object lives. Overlapping calls are side by side. The
/// starts of a persistent collective are numbered separately, since ranks may start several in any order.
class TracedCall final : public Observer, public CopyObserver {
 public:
  TracedCall(const std::shared_ptr<Communicator>& state, const CallTraits& traits, const Spec& spec,
             Form form, std::uint64_t sequence, std::uint64_t starts_before);
  ~TracedCall() override;

  void segment_begins(std::size_t flight, std::size_t segment) override;
  void round_ends(std::size_t flight, int round) override;
  void segment_ends(std::size_t flight) override;
  void input_arrives(std::size_t flight) override;
  void reduction_begins(std::size_t flight) override;
  void reduction_ends(std::size_t flight) override;
  std::size_t copy_begins(CopyDirection direction, const CopiedPart& of) override;
  void copy_ends(std::size_t copy, std::size_t bytes) override;

 private:
  struct Flight {
    std::size_t segment = 0;
    std::int64_t segment_began = 0;
    std::int64_t round_began = 0;
    std::int64_t reduction_began = 0;
  };
  struct Copy {
    CopyDirection direction;
    CopiedPart of;
    std::int64_t began;
  };

  [[nodiscard]] int row_of(std::size_t flight) const;

  std::size_t call_;
  int lane_ = 0;
  std::int64_t began_ = 0;
  std::vector<Flight> flights_;
  std::vector<Copy> copies_;
  std::array<std::int64_t, 2> last_copy_ended_{};  // by direction
};

/// Begins a call in the trace. Returns nullptr if nothing is traced.
std::unique_ptr<TracedCall> trace_call(const std::shared_ptr<Communicator>& state, const CallTraits& traits,
                                       const Spec& spec, Form form, std::uint64_t sequence,
                                       std::uint64_t starts_before = 0);

}  // namespace stretto
