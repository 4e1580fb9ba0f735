// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/background_links.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "interpose/dispatch/agreement.hpp"
#include "interpose/dispatch/choice.hpp"
#include "interpose/dispatch/fabric_memory.hpp"
#include "interpose/learning/link_evidence.hpp"
#include "learn/network/links.hpp"
#include "learn/network/modelled.hpp"
#include "select/claims.hpp"

namespace stretto {

/// The links after a look.
struct LinksAfter {
  /// [node] Bytes per second; empty: as was known before all looks. Valid once it is known.
  std::vector<double> rates;
  std::atomic<bool> is_known{false};
};

/// What the looks of a group have found. Looks may end in another order than they began, but all ranks must
/// draw the same conclusions.
class FoundLinks {
 public:
  FoundLinks(MeasuredNetwork measured, int nodes, bool is_rank_0)
      : measured_(std::move(measured)), watch_(measured_.machine, nodes), is_rank_0_(is_rank_0) {}

  /// Takes the figures of look number `look`, from 0 on. In any thread.
  void take(std::uint64_t look, std::span<const double> agreed, std::shared_ptr<LinksAfter> after) {
    const std::lock_guard guard(lock_);
    waiting_.emplace(look, Waiting{LinkFigures(agreed), std::move(after)});
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_; ++next_) {
      conclude(first->second);
      first = waiting_.erase(first);
    }
  }

 private:
  struct Waiting {
    LinkFigures figures;
    std::shared_ptr<LinksAfter> after;
  };

  void conclude(const Waiting& look) {
    if (watch_.look(look.figures)) {
      has_changed_ = true;
      if (is_rank_0_) note_links(measured_, watch_.rates());
    }
    if (has_changed_) look.after->rates = watch_.rates();
    look.after->is_known = true;
  }

  std::mutex lock_;
  MeasuredNetwork measured_;
  LinkWatch watch_;
  bool has_changed_ = false;
  bool is_rank_0_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Waiting> waiting_;
};

/// A look. Its agreement is under way in the background.
class LinkLook {
 public:
  LinkLook(const std::shared_ptr<Communicator>& state, std::shared_ptr<FoundLinks> found,
           std::uint64_t number, const LinkFigures& figures)
      : found_(std::move(found)),
        number_(number),
        after_(std::make_shared<LinksAfter>()),
        agreement_(state, figures.all(),
                   [found = found_, number, after = after_](std::span<const double> agreed) {
                     found->take(number, agreed, after);
                   }) {}

  [[nodiscard]] const std::shared_ptr<FoundLinks>& found() const { return found_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] bool is_known() const {
    return after_->is_known || (agreement_.is_known() && agreement_.has_failed());
  }
  /// Once it is known.
  [[nodiscard]] const std::vector<double>& rates() const { return after_->rates; }

 private:
  std::shared_ptr<FoundLinks> found_;
  std::uint64_t number_;
  std::shared_ptr<LinksAfter> after_;
  BackgroundAgreement agreement_;
};

namespace {

/// The choice of a call by what the last look before it has found.
class ChoiceByLinks final : public OpenChoice {
 public:
  ChoiceByLinks(std::shared_ptr<const LinkLook> look, const Question& question, Spec spec,
                std::shared_ptr<const OpenChoice> other)
      : look_(std::move(look)), question_(question), spec_(std::move(spec)), other_(std::move(other)) {}

  [[nodiscard]] bool is_known() const override {
    return look_->is_known() && (other_ == nullptr || other_->is_known());
  }
  [[nodiscard]] const Spec* replacement() const override {
    const Spec* const other = other_ == nullptr ? nullptr : other_->replacement();
    if (look_->rates().empty()) return other;
    const Spec& without = other == nullptr ? spec_ : *other;
    replacement_ = spec_for_links(question_, look_->rates(), without);
    return replacement_ == without ? other : &replacement_;
  }
  [[nodiscard]] std::size_t in_flight() const override {
    const std::size_t own = Communicator::pipelining_of(Spec{}).in_flight();
    return other_ == nullptr ? own : std::max(own, other_->in_flight());
  }

 private:
  std::shared_ptr<const LinkLook> look_;
  Question question_;
  Spec spec_;
  std::shared_ptr<const OpenChoice> other_;
  mutable Spec replacement_;
};

}  // namespace

std::shared_ptr<const OpenChoice> choose_by_links(const std::shared_ptr<Communicator>& state,
                                                  const CallTraits& traits, const Spec& spec,
                                                  std::shared_ptr<const OpenChoice> open) {
  Learners& learners = state->learners();
  LinkEvidence* const links = learners.links();
  if (links == nullptr) return open;
  const std::shared_ptr<const LinkLook> last = learners.last_look();
  if (links->is_due(traits.bytes)) {
    std::shared_ptr<FoundLinks> found =
        last ? last->found()
             : std::make_shared<FoundLinks>(*state->fabric()->measured(), state->topology().nodes,
                                            state->rank() == 0);
    learners.set_last_look(
        std::make_shared<LinkLook>(state, std::move(found), last ? last->number() + 1 : 0, links->figures()));
  }
  if (last == nullptr || traits.collective != Collective::allreduce) return open;
  // Even if this rank knows it already: the others may not, and all must reserve the same tags.
  return std::make_shared<ChoiceByLinks>(last, question_of(traits, state->topology(), Form::non_blocking),
                                         spec, std::move(open));
}

}  // namespace stretto
