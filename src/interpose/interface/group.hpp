// SPDX-License-Identifier: Apache-2.0
// The objects behind the handles of include/stretto/group.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/mpi.hpp"
#include "mpi/raw_handle.hpp"
#include "mpi/status.hpp"
#include "stretto/group.h"

#define STRETTO_VISIBLE __attribute__((visibility("default")))

namespace stretto {

class Communicator;

/// The communicator of a group. The group holds it, and so do its works until they are freed. Open MPI 4
/// crashes if a communicator is freed while a non-blocking call on it is in flight. So when the last holder
/// goes, the communicator is noted for free_left_communicators().
class GroupCommunicator {
 public:
  explicit GroupCommunicator(MPI_Comm comm) : comm_(comm) {}
  GroupCommunicator(const GroupCommunicator&) = delete;
  GroupCommunicator& operator=(const GroupCommunicator&) = delete;
  ~GroupCommunicator();
  [[nodiscard]] MPI_Comm comm() const { return comm_; }

 private:
  MPI_Comm comm_;
};

}  // namespace stretto

struct stretto_group {  // NOLINT(readability-identifier-naming): C's name
  stretto::MPI_Comm comm{};
  int rank = 0;
  int size = 0;
  std::uint64_t censuses = 0;  // begun on it
  std::shared_ptr<const stretto::GroupCommunicator> held;
};

struct stretto_work {  // NOLINT(readability-identifier-naming): C's name
  /// The requests of the work; those that have ended are null.
  std::vector<stretto::MPI_Request> requests;
  /// Arrays that the call reads until its end, and those of a library whose counts are int.
  std::vector<std::vector<stretto::RawCount>> numbers;
  std::vector<std::vector<int>> narrowed;
  /// A datatype that was made for this call.
  stretto::MPI_Datatype datatype{};
  std::string error;
  int source = STRETTO_ANY_SOURCE;
  /// The communicator of its group.
  std::shared_ptr<const stretto::GroupCommunicator> held;
};

namespace stretto {

/// Sets the text of stretto_error(), unless there is no memory for it. Returns 1.
int set_error(std::string_view line) noexcept;

/// Returns work(). If there is no memory for it, calls set_error() and returns `failure`.
template <typename Result, typename Work>
Result without_exceptions(Result failure, const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    set_error("there is no memory left");
    return failure;
  }
}

/// Frees the communicators that no group or work holds any more.
void free_left_communicators();

/// Returns a time for messages to users.
std::string text_of_seconds(double seconds);
/// Returns the first line of a reason that a framework gives.
std::string one_line(const char* reason);

struct Reduction {
  MPI_Datatype datatype{};
  MPI_Op op{};
  std::size_t bytes = 0;  // of an element
};

/// Finds the MPI handles of an operation on a type. Returns false, after set_error(), if there is no such
/// operation on this type.
bool find_reduction(stretto_type type, stretto_op op, Reduction& reduction);

/// The network that carries this process's messages. The functions that were found behind calls belong to one
/// network.
enum class Network : std::uint8_t { none, of_library, sockets };
/// Returns whether the process may use this network: a process never changes its network.
bool use_network(Network network);

/// Prepares a communicator that will be used for a long time. Collective over its ranks.
void come_into_use(MPI_Comm comm);

/// Makes a group of these ranks of `parent`, or of all its ranks if `ranks` is nullptr. Collective over the
/// ranks of the group. Returns nullptr after set_error(); then `failed` gets what there is of its state.
stretto_group* make_group(MPI_Comm parent, const int* ranks, int count, int tag, double seconds,
                          std::shared_ptr<Communicator>* failed = nullptr);

/// To be called when a work was given up, so that MPI cannot be finalized.
void note_lost_work();

}  // namespace stretto
