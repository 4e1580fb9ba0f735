// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "algorithms/collective.hpp"
#include "interpose/progress/outstanding.hpp"
#include "mpi/mpi.hpp"

namespace stretto {

/// The call behind a request that the program has got from Stretto.
class RequestedCall : public Outstanding {
 public:
  /// Starts a persistent call.
  virtual void start() = 0;
  /// Returns nothing for what is no collective, or not known to be one.
  [[nodiscard]] virtual std::optional<Collective> collective() const { return std::nullopt; }
  /// To be called when the program tests or waits for it.
  virtual void note_asked() {}
  /// Returns an MPI error code, once it has ended, after calling the error handler of the program's
  /// communicator unless the library has done so.
  virtual int report_error() const = 0;
  /// Fills the program's status, which is empty before, except for its MPI_ERROR.
  virtual void set_status(MPI_Status* /*status*/) const {}
  /// Without MPI: ends the call with this reason, one line, and so the communicator from this call on. Does
  /// nothing for a message between two ranks.
  virtual void fail(const std::string& /*reason*/) {}
  /// Returns a number that changes whenever something of the call moves, as far as that is known.
  [[nodiscard]] virtual std::uint64_t steps() { return 0; }
  /// Describes in `text` the call's state and the ranks that it waits for. Returns false if the call has
  /// ended, or another thread is advancing it.
  virtual bool try_describe_state(std::string& text) = 0;
};

}  // namespace stretto
