// SPDX-License-Identifier: Apache-2.0
#include "interpose/operations/run_operation.hpp"

#include <exception>
#include <new>

#include "interpose/operations/requests.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"

namespace stretto {

bool wait_for_channel(Communicator& state, const std::shared_ptr<Channel>& channel, const CallTraits& traits,
                      const Spec& spec) {
  Channel::State now = channel->progress();
  if (now == Channel::State::open) return true;
  const AwaitedCall awaited(state, traits, spec);
  note_live_waiting();
  wait_until([&] { return (now = channel->progress()) != Channel::State::opening; });
  if (now == Channel::State::open) return true;
  state.refuse_channel();
  // The library's own call will report the error that kept the ranks from agreeing.
  if (channel->error() != MPI_SUCCESS) return false;
  complain_once_on_rank_0(
      "the MPI library has no tags left for another communicator; its collectives use the MPI default");
  return false;
}

int report(MPI_Comm comm, int error) {
  mpi.Comm_call_errhandler(comm, error);
  return error;
}

int report_exception(MPI_Comm comm) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return report(comm, mpi.err_no_mem);
  } catch (const std::exception& error) {
    complain(this_rank() + ": " + error.what());
    return report(comm, mpi.err_other);
  }
}

void wait_for(Outstanding& call) {
  wait_until([&] { return call.ended(); },
             [&] {
               const bool any = call.progress();
               return make_progress() || any;
             });
}

void hand_over(std::shared_ptr<Operation> operation, Form form, Place<MPI_Request> request) {
  if (form == Form::non_blocking) {
    operation->start();
    if (!operation->ended()) add_outstanding(operation);
  }
  request.store(make_request(std::move(operation), form == Form::persistent));
}

}  // namespace stretto
