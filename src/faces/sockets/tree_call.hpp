// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sockets/endpoint.hpp"

namespace stretto {

struct OpaqueComm;

/// A short collective of the core itself, such as an agreement. It goes up a binomial tree and down again.
/// (The program's collectives go by schedules.) The ranks of a subtree are consecutive, counted from the
/// root.
class TreeCall {
 public:
  enum class Kind : std::uint8_t {
    to_all,   // reduces to all
    to_root,  // reduces to the root
    gather,   // brings all ranks' parts to all, in order of ranks
    bcast,
  };
  /// Computes inout ← in op inout for all elements.
  using Reduce = std::function<void(const std::byte* in, std::byte* inout)>;

  /// `data` is this rank's part. It is the input, and also the output of all kinds except gather, whose
  /// output is `all`.
  TreeCall(OpaqueComm& comm, Kind kind, int root, std::span<std::byte> data, Reduce reduce = {},
           std::byte* all = nullptr);

  TreeCall(const TreeCall&) = delete;
  TreeCall& operator=(const TreeCall&) = delete;
  /// Takes its messages back.
  ~TreeCall() { end_messages(); }

  /// Goes on as far as possible without waiting. Returns whether it has ended.
  bool advance();
  /// Returns an MPI error code, once it has ended.
  [[nodiscard]] int error() const { return error_; }

 private:
  enum class Phase : std::uint8_t { from_children, to_parent, from_parent, to_children, ended };

  void begin_phase(Phase phase);
  void end_phase();
  void start(bool sends, int relative, std::byte* data, std::size_t bytes);
  [[nodiscard]] int ranks_below(int relative) const;
  void put_in_order();
  void end_messages();

  /// Returns the rank in the job of a rank relative to the root.
  [[nodiscard]] int in_job(int relative) const;

  std::shared_ptr<const std::vector<int>> ranks_;  // of the job
  int size_;
  std::uint64_t context_;
  Kind kind_;
  int root_;
  int relative_;  // of this rank to the root
  int tag_;
  std::span<std::byte> data_;
  Reduce reduce_;
  std::byte* all_;
  std::vector<int> children_;  // relative
  /// The data from the children; in a gather, the parts of all ranks, counted from the root.
  std::vector<std::byte> gathered_;
  std::deque<Message> messages_;
  Phase phase_ = Phase::ended;
  int error_ = 0;
};

}  // namespace stretto
