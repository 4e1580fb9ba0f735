// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/agreement.hpp"

#include <utility>

#include "interpose/handles/known_operation.hpp"
#include "interpose/operations/call_buffers.hpp"
#include "interpose/operations/operation.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "select/rule.hpp"

namespace stretto {
namespace {

/// Lets the buffers be those of the allreduce.
void set_figures(CallBuffers& buffers, std::vector<double>& figures) {
  buffers.call = Call::whole(figures.data(), figures.data(), figures.size(),
                             with_known_kernel(find_element(mpi.double_, mpi.max).value()));
  buffers.call.in_place = true;
}

class AwaitedMessage final : public CallBuffers {
 public:
  explicit AwaitedMessage(std::vector<double>& figures) { set_figures(*this, figures); }
};

CallTraits traits_of(const std::vector<double>& figures) {
  CallTraits traits{.collective = Collective::allreduce, .bytes = figures.size() * sizeof(double)};
  traits.is_own = true;
  return traits;
}

Spec spec_for(const CallTraits& traits, const Topology& topology, Form form) {
  return choose_own(shape_of(traits, topology, form, false));
}

}  // namespace

bool agree_on_greatest(std::vector<double>& figures, Communicator& state, const CallTraits& traits,
                       const Spec& spec) {
  if (!wait_for_channel(state, state.channel(), traits, spec)) return false;
  const CallTraits own = traits_of(figures);
  AwaitedMessage message(figures);
  Operation operation(state.shared_from_this(), own, spec_for(own, state.topology(), Form::blocking),
                      Form::blocking, message);
  const AwaitedCall awaited(state, traits, spec, &operation);
  return run(operation) == MPI_SUCCESS;
}

class BackgroundAgreement::Message final : public CallBuffers {
 public:
  Message(std::shared_ptr<Figures> figures, Take take)
      : figures_(std::move(figures)), take_(std::move(take)) {
    set_figures(*this, figures_->values);
  }
  int finish() override {
    take_(figures_->values);
    figures_->are_agreed = true;
    return MPI_SUCCESS;
  }

 private:
  std::shared_ptr<Figures> figures_;
  Take take_;
};

BackgroundAgreement::BackgroundAgreement(const std::shared_ptr<Communicator>& state, std::vector<double> own,
                                         Take take)
    : figures_(std::make_shared<Figures>()) {
  figures_->values = std::move(own);
  const CallTraits traits = traits_of(figures_->values);
  const Spec spec = spec_for(traits, state->topology(), Form::non_blocking);
  const auto made = std::make_shared<Own>([&] { return Message(figures_, std::move(take)); },
                                          ProgramHandles{mpi.datatype_null, mpi.datatype_null, mpi.op_null},
                                          state, traits, spec, Form::non_blocking);
  made->operation.start();
  if (!made->operation.ended()) add_outstanding({made, &made->operation});
  own_ = made;
}

bool BackgroundAgreement::is_known() const {
  const auto own = own_.lock();
  return own == nullptr || own->operation.ended();
}

void BackgroundAgreement::wait() const {
  if (const auto own = own_.lock()) wait_for(own->operation);
}

}  // namespace stretto
