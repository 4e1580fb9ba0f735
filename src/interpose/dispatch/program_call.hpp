// SPDX-License-Identifier: Apache-2.0
// The record of a collective call, as the program makes it. All else is derived from it: the properties that
// are equal on all ranks (CallTraits), the bytes that this rank reads and writes
// (collectives/library_buffers.hpp), and the message of the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "algorithms/mpi_function.hpp"
#include "interpose/communicators/known_communicators.hpp"
#include "interpose/learning/repeated_calls.hpp"
#include "interpose/observe/live.hpp"
#include "interpose/session/call_traits.hpp"
#include "interpose/session/session.hpp"
#include "mpi/places.hpp"
#include "mpi/raw_handle.hpp"
#include "select/form.hpp"
#include "select/spec.hpp"

namespace stretto {

class Communicator;
class LearningCall;

/// Counts or displacements, one for each rank, of either width.
class Numbers {
 public:
  Numbers() = default;
  Numbers(const int* numbers) : short_(numbers) {}
  Numbers(const RawCount* numbers) : long_(numbers) {}

  [[nodiscard]] bool exist() const { return short_ != nullptr || long_ != nullptr; }
  /// Returns the array of numbers of 64 bits; nullptr if they have another width.
  [[nodiscard]] const RawCount* of_64_bits() const { return long_; }
  std::int64_t operator[](int rank) const { return short_ != nullptr ? short_[rank] : long_[rank]; }
  friend bool operator==(const Numbers&, const Numbers&) = default;

 private:
  const int* short_ = nullptr;
  const RawCount* long_ = nullptr;
};

/// A buffer of a collective, as arguments: one block, or one for each rank.
struct BufferArgument {
  const void* address = nullptr;
  std::int64_t count = 0;  // of a block, unless there are `counts`
  Numbers counts = {};     // of each rank's block
  Numbers displacements =
      {};  // of each rank's block: in extents of the type, or in bytes with `datatypes`; or adjacent
  MPI_Datatype datatype = {};
  RawDatatypes datatypes = {};  // of each rank's block
  bool exists = true;

  [[nodiscard]] bool in_place() const { return address == mpi.in_place; }
  /// Schedules never write to an input (proven), so one type of pointer serves both.
  [[nodiscard]] void* memory() const { return const_cast<void*>(address); }
};

/// The way in which the program calls: the arguments that a function has beside those of the blocking one.
struct FormArguments {
  Form form = Form::blocking;
  /// The place where the program wants the request of a non-blocking or persistent call.
  void* request = nullptr;
  /// The spec that the call forces; nullptr: the usual choice.
  const Spec* forced = nullptr;
};

/// A call that the MPI library carries out.
struct LibraryCall {
  CallTraits traits;
  std::shared_ptr<Communicator> state;
  std::uint64_t sequence = 0;
  /// Whether a tuning might find something faster: nothing but the built-in rule has decided.
  bool may_be_tuned = false;
};

struct ProgramCall {
  MpiFunction function = MpiFunction::barrier;
  Form form = Form::blocking;
  BufferArgument sent = {};
  BufferArgument received = {};  // also the only buffer of a broadcast
  MPI_Op op = {};                // null: it does not reduce
  int root = 0;
  MPI_Comm comm = {};
  Place<MPI_Request> request = {};
  std::optional<Spec> forced = std::nullopt;

  // The fields from here on are set on the way to the engine.
  /// The bytes that this rank sends and receives, if other ranks do not know them. No choice may depend on
  /// them.
  std::size_t private_bytes = 0;
  /// The key of a blocking call that may be repeated as it is.
  std::optional<CallKey> key = std::nullopt;
  /// Set if the library carries the call out and something observes that (STRETTO_STATS and others).
  std::optional<LibraryCall> library_call = std::nullopt;
  /// Set if the library carries the call out and something is learned from it (STRETTO_ONLINE).
  std::shared_ptr<LearningCall> learning = nullptr;

  [[nodiscard]] Collective collective() const { return collective_of(function); }
  /// Whether this rank passes MPI_IN_PLACE. In a scatter, only the root may pass it, as its receive buffer.
  [[nodiscard]] bool in_place() const {
    return is_scatter(collective()) ? received.in_place() : sent.in_place();
  }
};

/// Whether a call may go straight to the library, because nothing else is ever chosen for so few bytes.
inline bool is_small(Form form, bool is_forced, Collective collective, std::size_t bytes, MPI_Comm comm) {
  if (is_forced) return false;
  if (form != Form::blocking) return bytes < session.native_floor(collective, form);
  if (session.due_races.load(std::memory_order_relaxed) != 0) return false;
  if (bytes < session.native_floor(collective, form)) return true;
  const KnownCommunicator* known = find_known(comm);
  return known != nullptr && is_left_to_choice(collective) &&
         bytes < known->floors->choice_of(collective, Form::blocking);
}
inline bool is_small(const ProgramCall& program_call, std::size_t bytes) {
  note_live_bytes(bytes);
  return is_small(program_call.form, program_call.forced.has_value(), program_call.collective(), bytes,
                  program_call.comm);
}

}  // namespace stretto
