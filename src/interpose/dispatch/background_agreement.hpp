// SPDX-License-Identifier: Apache-2.0
// How the ranks of a group agree without waiting for each other: by an allreduce in the background.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "interpose/communicators/communicator.hpp"
#include "interpose/operations/run_operation.hpp"

namespace stretto {

/// An agreement on the greatest figures of all ranks.
class BackgroundAgreement {
 public:
  /// Gets the agreed figures once, in any thread, before is_known() is true.
  using Take = std::function<void(std::span<const double>)>;

  /// Starts it. To be called in the order of calls. Throws std::bad_alloc.
  BackgroundAgreement(const std::shared_ptr<Communicator>& state, std::vector<double> own, Take take);

  /// Whether it has ended, or failed.
  [[nodiscard]] bool is_known() const;
  void wait() const;
  /// Once it is known:
  [[nodiscard]] bool has_failed() const { return !figures_->are_agreed; }
  [[nodiscard]] std::span<const double> figures() const { return figures_->values; }

 private:
  struct Figures {
    std::vector<double> values;
    std::atomic<bool> are_agreed{false};
  };
  class Message;
  using Own = OperationWithMessage<Message>;

  std::shared_ptr<Figures> figures_;
  std::weak_ptr<Own> own_;  // it holds the communicator, which has this
};

}  // namespace stretto
