// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/modelled_calls.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>

#include "interpose/dispatch/choice.hpp"
#include "interpose/dispatch/fabric_memory.hpp"
#include "interpose/dispatch/finding_text.hpp"
#include "interpose/session/session.hpp"
#include "learn/network/modelled.hpp"
#include "text/size.hpp"
#include "threads/clock.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

/// The longest time that a group waits for the model. Calls that the model has not reached by then are left
/// to the rule.
constexpr double longest_wait = 0.3;  // s

CallTraits traits_of(Collective collective, std::size_t bytes) {
  return {.collective = collective, .bytes = bytes, .understood = true, .element_bytes = sizeof(float)};
}

/// The measurements of the whole job. Smaller groups use them, too.
struct Known {
  std::mutex mutex;
  std::optional<MeasuredNetwork> network;
};
constinit Immortal<Known> of_job;

/// Measures the network if the group has all ranks of the job; then it is collective. Otherwise it does
/// nothing.
void measure_for_all(Communicator& state, MPI_Comm comm) {
  if (state.ranks() != session.topology.ranks()) return;
  const CallTraits traits = traits_of(Collective::allreduce, mebibyte);
  std::optional<MeasuredNetwork> measured = measured_network(state, traits, Spec{}, comm);
  if (session.settings.online == Online::guard) begin_looks_at_links(state, comm);
  const std::lock_guard lock(of_job().mutex);
  of_job().network = std::move(measured);
}

std::optional<MeasuredNetwork> known_network() {
  const std::lock_guard lock(of_job().mutex);
  return of_job().network;
}

/// Returns a line with the nanoseconds that idle links save, and one for each finding: the collective, the
/// least bytes, the nanoseconds and the spec.
std::string text_of(const Communicator& state, const Machine& machine) {
  const double until = seconds_now() + longest_wait;
  const Topology& topology = state.topology();
  std::string text = std::to_string(std::lround(saved_seconds(machine) / nano)) + '\n';
  for (const Collective collective : modelled_without_library) {
    for (std::size_t bytes = shortest_modelled; bytes <= longest_modelled; bytes *= factor_of_lengths) {
      if (seconds_now() > until) return text;
      // In some collectives, this is the length of the blocks; in others, that of the whole message.
      const CallTraits traits = traits_of(collective, bytes);
      const CallShape shape = shape_of(traits, topology, Form::non_blocking, session.shares_memory);
      for (const Finding& finding : find_fastest_without_library(shape, topology, machine)) {
        text += std::string(name_of(collective)) + ' ' + std::to_string(least_bytes_of(bytes)) + ' ' +
                text_of(finding) + '\n';
      }
    }
  }
  return text;
}

ModelledCalls calls_of(const std::string& text) {
  ModelledCalls calls;
  std::istringstream lines(text);
  std::string name;
  std::size_t from = 0;
  std::string finding;
  std::int64_t saved = 0;
  if (lines >> saved) calls.saved_seconds = nano * static_cast<double>(saved);
  while (lines >> name >> from && std::getline(lines >> std::ws, finding)) {
    const auto collective = std::ranges::find(collectives, name, [](Collective one) { return name_of(one); });
    calls.add(*collective, from, read_finding(finding, *collective, from));
  }
  return calls;
}

}  // namespace

void model_calls(Communicator& state, MPI_Comm comm) {
  if (state.native_only()) return;
  const CallTraits any = traits_of(Collective::allreduce, mebibyte);
  if (!why_unused(Source::model, question_of(any, state.topology(), Form::non_blocking)).empty()) return;
  known_fabric(state, any, Spec{}, comm);
  measure_for_all(state, comm);
  std::string text;
  if (state.rank() == 0) {
    if (const auto network = known_network()) text = text_of(state, network->machine);
  }
  if (send_from_rank_0(text, comm)) state.set_modelled(calls_of(text));
}

void forget_modelled_network() {
  const std::lock_guard lock(of_job().mutex);
  of_job().network.reset();
}

}  // namespace stretto
