// SPDX-License-Identifier: Apache-2.0
// SimGrid's SMPI. It has one MPI for a process, which is linked, so nothing is looked up as in
// mpi/find_library.cpp. Only the functions that a simulation calls are here.
#include <mpi.h>
#include <smpi/smpi.h>

// SMPI's macros name variables that SMPI does not declare.
#undef MPI_CXX_FLOAT_COMPLEX
#undef MPI_CXX_DOUBLE_COMPLEX
#undef MPI_CXX_LONG_DOUBLE_COMPLEX
#define MPI_CXX_FLOAT_COMPLEX MPI_DATATYPE_NULL
#define MPI_CXX_DOUBLE_COMPLEX MPI_DATATYPE_NULL
#define MPI_CXX_LONG_DOUBLE_COMPLEX MPI_DATATYPE_NULL
#include "faces/face.hpp"

#include <xbt/config.hpp>

#include "engine/data/element.hpp"
#include "engine/data/self_message.hpp"
#include "simulate/host.hpp"
#include "simulate/link_queues.hpp"
#include "simulate/memory.hpp"
#include "simulate/virtual_time.hpp"

namespace stretto {

constinit MpiLibrary mpi;

namespace {

using simulate::compute;
using simulate::longest_detached;
using simulate::queue_started_messages;
using simulate::value_of;

/// The seconds that the engine takes for a message at each of its ends. All hosts of our platforms are alike.
double message_seconds = 0;
/// From this many bytes on, a message starts when its receive is posted.
int synchronous_from = 0;

/// SMPI keeps short and long messages in different mailboxes, but requires the messages of two ranks with one
/// tag to be in order. If a short and a long message are in flight at once (the two parts of a run that wraps
/// around), SMPI finds neither. So long messages have tags of their own. Both ends know the length of a
/// message.
int tag_of(int tag, int count, ::MPI_Datatype datatype) {
  constexpr int tags_of_long_ones = 1 << 20;  // above all tags of the engine
  int size = 0;
  PMPI_Type_size(datatype, &size);
  const bool is_long = static_cast<double>(count) * size >= synchronous_from;
  return is_long ? tag + tags_of_long_ones : tag;
}

int send(const void* buffer, int count, ::MPI_Datatype datatype, int to, int tag, ::MPI_Comm comm,
         ::MPI_Request* request) {
  compute(message_seconds);
  const int code = PMPI_Isend(buffer, count, datatype, to, tag_of(tag, count, datatype), comm, request);
  queue_started_messages();
  return code;
}

int receive(void* buffer, int count, ::MPI_Datatype datatype, int from, int tag, ::MPI_Comm comm,
            ::MPI_Request* request) {
  const int code = PMPI_Irecv(buffer, count, datatype, from, tag_of(tag, count, datatype), comm, request);
  queue_started_messages();
  return code;
}

/// Waits in place of a test: in virtual time, a test costs time (smpi/test) and changes nothing.
int wait_for_one(int count, ::MPI_Request* requests, int* done, int* indices, ::MPI_Status* statuses) {
  ::MPI_Status& status = *statuses;
  status.MPI_SOURCE = MPI_ANY_SOURCE;  // unchanged after a send
  const int code = PMPI_Waitany(count, requests, indices, &status);
  *done = indices[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1;
  if (status.MPI_SOURCE >= 0) compute(message_seconds);
  return code;
}

/// The usual callback also frees the copies of detached messages.
void move_if_short(smx_activity_t message, void* buffer, std::size_t bytes) {
  // SimGrid's installed headers do not say that this is the base class.
  auto* comm = reinterpret_cast<simgrid::kernel::activity::CommImpl*>(message);
  if (bytes <= longest_detached) smpi_comm_copy_buffer_callback(comm, buffer, bytes);
}

}  // namespace

void simulate::move_no_data() {
  smpi_comm_set_copy_data_callback(&move_if_short);
}

std::string load_mpi(const void* /*function*/) {
  message_seconds = value_of("stretto/message");
  synchronous_from = simgrid::config::get_value<int>("smpi/async-small-thresh");
#define STRETTO_LINKED(name) mpi.name = STRETTO_ADAPTED(name)::bind(reinterpret_cast<void*>(&::PMPI_##name));
  STRETTO_LINKED(Barrier)
  STRETTO_LINKED(Comm_rank)
  STRETTO_LINKED(Comm_size)
  STRETTO_LINKED(Error_class)
  STRETTO_LINKED(Op_create)
  STRETTO_LINKED(Recv)
  STRETTO_LINKED(Reduce_local)
  STRETTO_LINKED(Request_free)
  STRETTO_LINKED(Send)
  STRETTO_LINKED(Sendrecv)
  mpi.Isend = STRETTO_ADAPTED(Isend)::bind(reinterpret_cast<void*>(&send));
  mpi.Irecv = STRETTO_ADAPTED(Irecv)::bind(reinterpret_cast<void*>(&receive));
  mpi.Testsome = STRETTO_ADAPTED(Testsome)::bind(reinterpret_cast<void*>(&wait_for_one));
  // SMPI counts the bytes of a message in an int, so a message of 2 GiB would look too short. Lengths need no
  // check here, because all ranks make the same call.
  mpi.Get_count = nullptr;
  faces::set_constants(std::nullopt);
  self_messages.comm = mpi.comm_self;
  return {};
}

/// Replaces the function in engine/data/predefined.cpp, which supports more than a simulation needs.
Element byte_element() {
  return {.datatype = mpi.byte, .op = mpi.op_null, .size = 1, .extent = 1, .true_extent = 1};
}

}  // namespace stretto
