// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/background_agreement.hpp"

#include <utility>

#include "interpose/handles/known_operation.hpp"
#include "interpose/operations/call_buffers.hpp"
#include "interpose/operations/operation.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "select/rule.hpp"

namespace stretto {

class BackgroundAgreement::Message final : public CallBuffers {
 public:
  Message(std::shared_ptr<Figures> figures, Take take)
      : figures_(std::move(figures)), take_(std::move(take)) {
    std::vector<double>& values = figures_->values;
    call = Call::whole(values.data(), values.data(), values.size(),
                       with_known_kernel(find_element(mpi.double_, mpi.max).value()));
    call.in_place = true;
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
  CallTraits traits{.collective = Collective::allreduce, .bytes = figures_->values.size() * sizeof(double)};
  traits.is_own = true;
  const Spec spec = choose_own(shape_of(traits, state->topology(), Form::non_blocking, false));
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
