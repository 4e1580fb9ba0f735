// SPDX-License-Identifier: Apache-2.0
#include "simulate/link_queues.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <utility>
#include <vector>

#include "simulate/memory.hpp"

namespace stretto::simulate {
namespace {

using simgrid::kernel::resource::Action;
using simgrid::kernel::resource::Model;
using simgrid::kernel::resource::NetworkAction;
using simgrid::s4u::Host;
using Ends = std::pair<const Host*, const Host*>;

/// A message that SimGrid reported at its start, and whose action must still be found.
struct Departure {
  Ends ends;
  double bytes;
  double at;
};

// State of all ranks, which are one process.
Model* model = nullptr;
std::size_t moving_at_once = 1;  // from one node to another
std::vector<Departure> departures;
std::map<Ends, std::deque<Action*>> queues;  // the first ones move, the others wait
std::map<const Action*, Ends> ends_of;       // all queued messages
std::vector<Action*> next;                   // messages that may move as soon as time has advanced

void enqueue(Action* action, const Ends& ends) {
  std::deque<Action*>& queue = queues[ends];
  queue.push_back(action);
  ends_of[action] = ends;
  // The message's time beyond that of the link passes while it waits.
  if (queue.size() > moving_at_once) action->suspend();
}

void dequeue(const Action* action) {
  const auto found = ends_of.find(action);
  if (found == ends_of.end()) return;
  std::deque<Action*>& queue = queues[found->second];
  ends_of.erase(found);
  const auto place = static_cast<std::size_t>(std::find(queue.begin(), queue.end(), action) - queue.begin());
  std::erase(queue, action);
  if (place < moving_at_once && queue.size() >= moving_at_once) next.push_back(queue[moving_at_once - 1]);
}

/// Resumes messages after time has advanced: SimGrid must not find changed rates while it goes through the
/// ended actions.
void resume_next() {
  for (Action* action : std::exchange(next, {})) {
    if (ends_of.contains(action)) action->resume();
  }
}

}  // namespace

void queue_messages(std::size_t at_once) {
  moving_at_once = at_once;
  auto* interface = simgrid::s4u::Engine::get_instance()->get_netzone_root()->get_network_model();
  model = dynamic_cast<Model*>(interface);
  simgrid::s4u::Link::on_communication_state_change_cb([](NetworkAction& message, Action::State /*before*/) {
    // SimGrid's installed headers do not say that this is the base class.
    const auto* action = reinterpret_cast<const Action*>(&message);
    if (action->get_state() == Action::State::FINISHED) dequeue(action);
  });
  simgrid::s4u::Engine::on_time_advance_cb([](double /*seconds*/) { resume_next(); });
}

void note_start(const Host* from, const Host* to, double bytes) {
  if (from == to || bytes <= static_cast<double>(longest_detached)) return;
  departures.push_back({{from, to}, bytes, simgrid::s4u::Engine::get_clock()});
}

void queue_started_messages() {
  if (model == nullptr || departures.empty()) return;
  // Both lists are in the order in which messages started. Departures without an action are messages that
  // nobody queued, such as those of the MPI library, and that have arrived.
  for (Action& action : *model->get_started_action_set()) {
    if (ends_of.contains(&action)) continue;
    const auto found = std::find_if(departures.begin(), departures.end(), [&action](const Departure& one) {
      return one.bytes == action.get_cost() && one.at == action.get_start_time();
    });
    if (found == departures.end()) continue;
    enqueue(&action, found->ends);
    departures.erase(found);
  }
  departures.clear();
}

}  // namespace stretto::simulate
