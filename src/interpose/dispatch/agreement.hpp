// SPDX-License-Identifier: Apache-2.0
// How the ranks of a group agree on figures: by an allreduce of Stretto's own. The MPI library's may take
// much longer, above all where its ranks spin on cores that they share.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "interpose/communicators/communicator.hpp"
#include "interpose/operations/run_operation.hpp"
#include "interpose/session/call_traits.hpp"
#include "select/spec.hpp"

namespace stretto {

/// Replaces each figure by the greatest one of all ranks, before a blocking call. Returns false after an
/// error. The program's handler has been called for it, and the call that follows meets the error as well.
///
/// All ranks get here in the same call, because what is learned depends only on the sequence of calls and on
/// what was agreed on.
bool agree_on_greatest(std::vector<double>& figures, Communicator& state, const CallTraits& traits,
                       const Spec& spec);

/// An agreement on the greatest figures of all ranks, for which no rank waits.
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
  class Message;
  using Own = OperationWithMessage<Message>;
  struct Figures {
    std::vector<double> values;
    std::atomic<bool> are_agreed{false};
  };

  std::shared_ptr<Figures> figures_;
  std::weak_ptr<Own> own_;  // it holds the communicator, which has this
};

}  // namespace stretto
