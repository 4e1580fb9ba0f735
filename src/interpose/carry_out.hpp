// SPDX-License-Identifier: Apache-2.0
// What all collectives have in common between the program's call and the engine.
#pragma once

#include <exception>
#include <new>
#include <optional>

#include "interpose/communicator.hpp"
#include "interpose/device.hpp"
#include "interpose/session.hpp"
#include "interpose/statistics.hpp"

namespace stretto {

/// What of a call decides how it is carried out: equal on all ranks.
struct CallTraits {
  Collective collective = Collective::allreduce;
  std::size_t bytes = 0;
  int root = 0;
  bool commutative = true;
  /// Whether Stretto knows the datatype and the operation; if not, only the library can carry it out.
  bool understood = true;
};

/// The spec for a call on this communicator. A forced one that does not fit gives way to what is sound, on
/// all ranks alike; in strict mode nothing is returned.
std::optional<Spec> choose_for(const Communicator& state, const CallTraits& traits,
                               const std::optional<Spec>& forced);

double seconds_now();

/// Tells the handler of the program's communicator.
int report(MPI_Comm comm, int error);

/// Carries a call out by `forced`, or by the choice if that is empty. Empty result: the call is the
/// library's, whose own function must be called with the arguments as they are; native() does that where it
/// is to be timed. prepare() gives an object with the engine's `call`, and finish(), which brings results to
/// where the program wants them.
template <typename Prepare, typename Native>
std::optional<int> carry_out(const CallTraits& traits, MPI_Comm comm, Communicator& state,
                             const std::optional<Spec>& forced, const Prepare& prepare,
                             const Native& native) {
  const bool measured = !session.settings.statistics_file.empty();
  const bool possible = traits.understood && !state.native_only();
  if (!possible && !measured) return std::nullopt;
  const double began = measured ? seconds_now() : 0;
  Spec spec;
  // An empty message is the library's to check; it may be one of no elements on some ranks, and of empty ones
  // on others.
  if (possible && traits.bytes > 0) {
    std::optional<Spec> choice = choose_for(state, traits, forced);
    if (!choice) return report(comm, MPI_ERR_OTHER);
    spec = *std::move(choice);
  }
  if (!spec.is_native() && !state.prepare_private_communicator()) spec = {};
  if (spec.is_pass_through() && !measured) return std::nullopt;

  int result = MPI_SUCCESS;
  if (spec.is_pass_through()) {
    result = native();
  } else {
    try {
      auto prepared = prepare();
      DeviceStaging staging(prepared.call);
      result = state.run(traits.collective, spec, prepared.call);
      if (result == MPI_SUCCESS) {
        staging.copy_result_back();
        result = prepared.finish();
      } else if (!spec.is_native()) {
        report(comm, result);
      }
    } catch (const std::bad_alloc&) {
      result = report(comm, MPI_ERR_NO_MEM);
    } catch (const std::exception& error) {
      complain(error.what());
      result = report(comm, MPI_ERR_OTHER);
    }
  }
  if (measured) record_call(traits.collective, traits.bytes, spec, seconds_now() - began);
  return result;
}

/// For a reduction, whose buffers are the program's own.
struct ReadyCall {
  Call call;
  int finish() { return MPI_SUCCESS; }
};

}  // namespace stretto
