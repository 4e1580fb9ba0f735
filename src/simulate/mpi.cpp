// SPDX-License-Identifier: Apache-2.0
// The engine's interface to MPI, filled with SMPI's functions. A simulation has one MPI, which is linked:
// nothing is looked up as in engine/mpi.cpp. Only the functions that the execution of a schedule calls are
// here.
#include "mpi/mpi.hpp"
#include "engine/element.hpp"
#include "engine/self_message.hpp"

#include <xbt/config.hpp>

#include "simulate/host.hpp"
#include "simulate/link_queues.hpp"
#include "simulate/virtual_time.hpp"

namespace stretto {

constinit MpiLibrary mpi;

namespace {

using simulate::compute;
using simulate::queue_started_messages;
using simulate::value_of;

/// The time that the engine takes for a message at each of its ends. All hosts of our platforms are alike.
double message_seconds = 0;
/// From this many bytes on, a message starts when its receive is posted.
int synchronous_from = 0;

/// SMPI keeps short and long messages in different mailboxes, but requires the messages of two ranks with one
/// tag to be in order. If a short and a long one are in flight at once (the two parts of a run that wraps
/// around), it finds neither. So long ones have tags of their own. Both ends know the length of a message.
int tag_of(int tag, int count, MPI_Datatype datatype) {
  constexpr int tags_of_long_ones = 1 << 20;  // above all tags of the engine
  int size = 0;
  PMPI_Type_size(datatype, &size);
  const bool is_long = static_cast<double>(count) * size >= synchronous_from;
  return is_long ? tag + tags_of_long_ones : tag;
}

int send(const void* buffer, int count, MPI_Datatype datatype, int to, int tag, MPI_Comm comm,
         MPI_Request* request) {
  compute(message_seconds);
  const int code = PMPI_Isend(buffer, count, datatype, to, tag_of(tag, count, datatype), comm, request);
  queue_started_messages();
  return code;
}

int receive(void* buffer, int count, MPI_Datatype datatype, int from, int tag, MPI_Comm comm,
            MPI_Request* request) {
  const int code = PMPI_Irecv(buffer, count, datatype, from, tag_of(tag, count, datatype), comm, request);
  queue_started_messages();
  return code;
}

/// In virtual time, a test costs time (smpi/test) and changes nothing, so it may as well wait.
int wait_for_one(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  MPI_Status& status = *statuses;
  status.MPI_SOURCE = MPI_ANY_SOURCE;  // unchanged after a send
  const int code = PMPI_Waitany(count, requests, indices, &status);
  *done = indices[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1;
  if (status.MPI_SOURCE >= 0) compute(message_seconds);
  return code;
}

}  // namespace

std::string load_mpi() {
  message_seconds = value_of("stretto/message");
  synchronous_from = simgrid::config::get_value<int>("smpi/async-small-thresh");
  mpi.Isend = send;
  mpi.Irecv = receive;
  mpi.Testsome = wait_for_one;
  mpi.Error_class = PMPI_Error_class;
  // SMPI counts the bytes of a message in an int, so 2 GiB would look short. All ranks make the same call
  // here.
  mpi.Get_count = nullptr;
  mpi.Request_free = PMPI_Request_free;
  mpi.Sendrecv = PMPI_Sendrecv;
  mpi.Reduce_local = PMPI_Reduce_local;
  load_mpi_handles();
  self_messages.comm = mpi.comm_self;
  return {};
}

/// As in engine/predefined.cpp, which knows more than a simulation needs.
Element byte_element() {
  return {.datatype = MPI_BYTE, .op = MPI_OP_NULL, .size = 1, .extent = 1, .true_extent = 1};
}

}  // namespace stretto
