// SPDX-License-Identifier: Apache-2.0
#include "interpose/start/early_messages.hpp"

#include <cstring>

#include "threads/immortal.hpp"

namespace stretto {
namespace {

/// A tag that Open MPI does not use itself (ompi/mca/coll/base/coll_tags.h begins with -10; -1 is
/// MPI_ANY_TAG).
constexpr int negative_tag = -9;
/// The highest tag that every MPI library has.
constexpr int usual_tag = 32767;

/// Returns whether this build of Open MPI always refuses such a tag.
bool refuses(int tag) {
  MPI_Errhandler before{};
  mpi.Comm_get_errhandler(mpi.comm_world, &before);
  mpi.Comm_set_errhandler(mpi.comm_world, mpi.errors_return);
  MPI_Request request = mpi.request_null;
  const int error = mpi.Isend(nullptr, 0, mpi.byte, mpi.proc_null, tag, mpi.comm_world, &request);
  if (error == MPI_SUCCESS) mpi.Waitall(1, &request, mpi.statuses_ignore);
  mpi.Comm_set_errhandler(mpi.comm_world, before);
  mpi.Errhandler_free(&before);
  return error != MPI_SUCCESS;
}

}  // namespace

EarlyMessages::EarlyMessages()
    : sent_(make_immortal<std::list<Message>>()), awaited_(make_immortal<std::map<int, Message>>()) {
  if (mpi.is(Interface::openmpi))
    checks_arguments_ = static_cast<bool*>(mpi_variable("ompi_mpi_param_check"));
  if (checks_arguments_ != nullptr) {
    checked_before_ = *checks_arguments_;
    *checks_arguments_ = false;
  }
  way_ = find_method();
}

EarlyMessages::~EarlyMessages() {
  if (sent_.empty() && awaited_.empty()) {
    delete &sent_;
    delete &awaited_;
  }
  if (checks_arguments_ != nullptr) *checks_arguments_ = checked_before_;
}

EarlyMessages::Method EarlyMessages::find_method() {
  if (mpi.is(Interface::openmpi)) return refuses(negative_tag) ? Method::usual : Method::negative_tags;
  const bool has_partitioned =
      mpi.Psend_init != nullptr && mpi.Precv_init != nullptr && mpi.Pready != nullptr;
  return has_partitioned ? Method::partitioned : Method::usual;
}

int EarlyMessages::tag() const {
  return way_ == Method::negative_tags ? negative_tag : usual_tag;
}

void EarlyMessages::send(int to, const void* data, std::size_t bytes) {
  Message& message = sent_.emplace_back();
  message.data.resize(bytes);
  std::memcpy(message.data.data(), data, bytes);
  begin_to_send(message, to);
}

void EarlyMessages::begin_to_send(Message& message, int to) const {
  const auto bytes = static_cast<int>(message.data.size());
  if (way_ == Method::partitioned) {
    mpi.Psend_init(message.data.data(), 1, bytes, mpi.byte, to, tag(), mpi.comm_world, mpi.info_null,
                   &message.request);
    mpi.Start(&message.request);
    mpi.Pready(0, message.request);
    return;
  }
  mpi.Isend(message.data.data(), bytes, mpi.byte, to, tag(), mpi.comm_world, &message.request);
}

bool EarlyMessages::begin_to_receive(Message& message, int from) const {
  const auto bytes = static_cast<int>(message.data.size());
  if (way_ == Method::partitioned) {
    mpi.Precv_init(message.data.data(), 1, bytes, mpi.byte, from, tag(), mpi.comm_world, mpi.info_null,
                   &message.request);
    mpi.Start(&message.request);
    return true;
  }
  int is_here = 0;
  mpi.Iprobe(from, tag(), mpi.comm_world, &is_here, mpi.status_ignore);
  if (is_here == 0) return false;
  mpi.Irecv(message.data.data(), bytes, mpi.byte, from, tag(), mpi.comm_world, &message.request);
  return true;
}

bool EarlyMessages::has_ended(Message& message) const {
  int done = 0;
  mpi.Test(&message.request, &done, mpi.status_ignore);
  if (done != 0 && way_ == Method::partitioned) mpi.Request_free(&message.request);
  return done != 0;
}

bool EarlyMessages::try_receive(int from, void* into, std::size_t bytes) {
  auto found = awaited_.find(from);
  if (found == awaited_.end()) {
    Message message{.data = std::vector<std::byte>(bytes)};
    if (!begin_to_receive(message, from)) return false;
    found = awaited_.emplace(from, std::move(message)).first;
  }
  if (!has_ended(found->second)) return false;
  std::memcpy(into, found->second.data.data(), bytes);
  awaited_.erase(found);
  return true;
}

bool EarlyMessages::all_sent() {
  sent_.remove_if([this](Message& message) { return has_ended(message); });
  return sent_.empty();
}

}  // namespace stretto
