// SPDX-License-Identifier: Apache-2.0
// Messages and their requests.
#include <memory>

#include "faces/sockets/functions.hpp"
#include "mpi/status.hpp"

namespace stretto::faces::sockets {
namespace {

OwnNetworkStatus* fields_of(MPI_Status* status) {
  return reinterpret_cast<OwnNetworkStatus*>(status);
}

std::unique_ptr<OpaqueRequest> make(bool sends, const void* buffer, int count, MPI_Datatype type, int peer,
                                    int tag, MPI_Comm comm) {
  auto request = std::make_unique<OpaqueRequest>();
  request->comm = comm;
  Message& message = request->message;
  message.sends = sends;
  message.peer = peer == any_source ? any_rank : peer == no_rank ? no_rank : comm->in_job(peer);
  message.context = comm->context;
  message.tag = tag;
  message.data = static_cast<std::byte*>(const_cast<void*>(buffer));
  message.bytes = static_cast<std::size_t>(count) * type->bytes;
  return request;
}

void begin(OpaqueRequest& request) {
  request.is_active = true;
  Message& message = request.message;
  message.state.store(Message::State::pending, std::memory_order_relaxed);
  message.source = no_rank;
  message.arrived = 0;
  if (message.peer == no_rank) return message.end(Message::State::done);
  job->endpoint->start(message);
}

int begin_new(std::unique_ptr<OpaqueRequest> request, MPI_Request* made) {
  begin(*request);
  *made = request.release();
  return MPI_SUCCESS;
}

bool has_ended(OpaqueRequest& request) {
  return request.call ? request.call->advance() : request.message.has_ended();
}

/// Whether there is nothing that could end.
bool is_idle(MPI_Request request) {
  return request == nullptr || !request->is_active;
}

int error_of(const OpaqueRequest& request) {
  if (request.call) return request.call->error();
  const Message& message = request.message;
  if (message.state == Message::State::failed) return code_of(message.reason);
  return !message.sends && message.arrived > message.bytes ? Error::truncate : MPI_SUCCESS;
}

void set_empty(MPI_Status* status) {
  if (status != nullptr)
    *fields_of(status) = {.source = any_source, .tag = -1, .error = MPI_SUCCESS, .bytes = 0};
}

/// Takes the result of a request that has ended. Returns its error.
int finish(MPI_Request& request, MPI_Status* status) {
  const int error = error_of(*request);
  const Message& message = request->message;
  set_empty(status);
  if (status != nullptr) {
    OwnNetworkStatus& fields = *fields_of(status);
    fields.error = error;
    if (!request->call && !message.sends && message.source >= 0) {
      fields.source = request->comm->of_job(message.source);
      fields.tag = message.tag;
      fields.bytes = message.arrived;  // if more than the receive takes, the error says so
    }
  }
  delete request;
  request = nullptr;
  return error;
}

template <typename Ended>
bool poll(const Ended& ended) {
  if (ended()) return true;
  job->endpoint->progress();
  return ended();
}

}  // namespace

int Functions::Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                     MPI_Request* request) {
  return begin_new(make(true, buffer, count, type, to, tag, comm), request);
}

int Functions::Irecv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     MPI_Request* request) {
  return begin_new(make(false, buffer, count, type, from, tag, comm), request);
}

/// Makes a request that is never started: the core lends it to calls of the program.
int Functions::Send_init(const void* /*buffer*/, int /*count*/, MPI_Datatype /*type*/, int /*to*/,
                         int /*tag*/, MPI_Comm comm, MPI_Request* request) {
  *request = new OpaqueRequest;
  (*request)->comm = comm;
  return MPI_SUCCESS;
}

int Functions::Request_free(MPI_Request* request) {
  Cancel(request);
  delete *request;
  *request = nullptr;
  return MPI_SUCCESS;
}

/// Unlike MPI's, takes back any message at any time, and its memory is free then.
int Functions::Cancel(MPI_Request* request) {
  if (!is_idle(*request) && !(*request)->call)
    job->endpoint->abort((*request)->message, "the message was taken back");
  return MPI_SUCCESS;
}

int Functions::Test(MPI_Request* request, int* done, MPI_Status* status) {
  if (is_idle(*request)) {
    set_empty(status);
    *done = 1;
    return MPI_SUCCESS;
  }
  *done = poll([&] { return has_ended(**request); }) ? 1 : 0;
  return *done != 0 ? finish(*request, status) : MPI_SUCCESS;
}

int Functions::Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  bool failed = false;
  for (int i = 0; i < count; ++i) {
    MPI_Status* const status =
        statuses == nullptr ? nullptr : status_at(statuses, static_cast<std::size_t>(i));
    if (is_idle(requests[i])) {
      set_empty(status);
      continue;
    }
    wait_until([&] { return has_ended(*requests[i]); });
    failed = finish(requests[i], status) != MPI_SUCCESS || failed;
  }
  return failed ? Error::in_status : MPI_SUCCESS;
}

int Functions::Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  MPI_Request request = nullptr;
  Isend(buffer, count, type, to, tag, comm, &request);
  wait_until([&] { return has_ended(*request); });
  return finish(request, nullptr);
}

int Functions::Recv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                    MPI_Status* status) {
  MPI_Request request = nullptr;
  Irecv(buffer, count, type, from, tag, comm, &request);
  wait_until([&] { return has_ended(*request); });
  return finish(request, status);
}

int Functions::Iprobe(int from, int tag, MPI_Comm comm, int* found, MPI_Status* status) {
  const int source = from == any_source ? any_rank : comm->in_job(from);
  auto envelope = job->endpoint->probe(source, comm->context, tag);
  if (!envelope) {
    job->endpoint->progress();
    envelope = job->endpoint->probe(source, comm->context, tag);
  }
  *found = envelope ? 1 : 0;
  if (!envelope || status == nullptr) return MPI_SUCCESS;
  *fields_of(status) = {
      .source = comm->of_job(envelope->source), .tag = tag, .error = MPI_SUCCESS, .bytes = envelope->bytes};
  return MPI_SUCCESS;
}

int Functions::Get_elements_x(const MPI_Status* status, MPI_Datatype /*type*/, MPI_Count* count) {
  *count = static_cast<MPI_Count>(reinterpret_cast<const OwnNetworkStatus*>(status)->bytes);
  return MPI_SUCCESS;
}

}  // namespace stretto::faces::sockets
