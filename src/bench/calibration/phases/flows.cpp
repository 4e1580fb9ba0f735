// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "bench/calibration/common/waiting.hpp"
#include "bench/calibration/phases/phases.hpp"
#include "mpi/mpi.hpp"
#include "threads/clock.hpp"

namespace stretto::bench {
namespace {

constexpr int flow_tag = 6;
constexpr std::size_t tiny = 8;
constexpr int least_rounds = 3;
constexpr int most_rounds = 25;

/// The sender and the receiver of each flow.
struct Flow {
  int sender;
  int receiver;
};

/// Returns 1, 2, 3, 4, 6, 8, 12, 16, … and the last one itself.
std::vector<int> list_counts(int last) {
  std::vector<int> counts;
  for (int power = 1; power <= last; power *= 2) {
    counts.push_back(power);
    if (power > 1 && power + power / 2 <= last) counts.push_back(power + power / 2);
  }
  if (counts.empty() || counts.back() != last) counts.push_back(last);
  return counts;
}

/// Returns flows between the ranks of two nodes, as many as the smaller node has ranks.
std::vector<Flow> flows_between(const Topology& topology, int one, int other) {
  std::vector<Flow> flows;
  for (int place = 0; place < std::min(topology.ppn(one), topology.ppn(other)); ++place) {
    flows.push_back({topology.rank_at(one, place), topology.rank_at(other, place)});
  }
  return flows;
}

int fullest_node(const Topology& topology) {
  int fullest = 0;
  for (int node = 1; node < topology.nodes; ++node) {
    if (topology.ppn(node) > topology.ppn(fullest)) fullest = node;
  }
  return fullest;
}

/// Returns groups of flows that belong together. For the fabric's limit, a group has all flows between one
/// pair of nodes; for the other limits, it has one flow.
std::vector<std::vector<Flow>> list_groups(const Topology& topology, Limit limit) {
  std::vector<std::vector<Flow>> groups;
  const int half = topology.nodes / 2;
  switch (limit) {
    case Limit::node:
      if (half > 0) {
        for (const Flow flow : flows_between(topology, 0, half)) groups.push_back({flow});
      }
      break;
    case Limit::memory: {
      const auto ranks = topology.on_node(fullest_node(topology));
      for (std::size_t i = 0; i < ranks.size() / 2; ++i) {
        groups.push_back({{ranks[i], ranks[i + ranks.size() / 2]}});
      }
      break;
    }
    case Limit::fabric:
      for (int node = 0; node < half; ++node) {
        groups.push_back(flows_between(topology, node, node + half));
      }
      break;
  }
  return groups;
}

constexpr std::string_view name_of(Limit limit) {
  constexpr std::array<std::string_view, 3> names{"node", "memory", "fabric"};
  return names.at(static_cast<std::size_t>(limit));
}

class Flows : public Phase {
 public:
  Flows(Site& site, Limit limit, const OnProgress& on_progress)
      : Phase(site, on_progress),
        limit_(limit),
        groups_(list_groups(site.topology, limit)),
        level_(*std::find_if(site.levels.begin(), site.levels.end(), [&](const Level& level) {
          return level.name == (limit == Limit::memory ? "node" : "network");
        })) {
    for (const int count : list_counts(static_cast<int>(groups_.size()))) crews_.push_back(make_crew(count));
  }

  ~Flows() override {
    for (Crew& crew : crews_) {
      if (crew.comm != mpi.comm_null) mpi.Comm_free(&crew.comm);
    }
  }

  double weight() const override { return limit_ == Limit::memory ? 2 : 3; }

  void measure(double seconds, int pass) override {
    if (pass == 0) list_cases();
    reserve();
    meet({0.0}, on_progress());
    if (pass == 0) {
      for (Case& one : cases_) choose_count(one);
    }
    take_in_rounds(cases_, seconds, least_rounds, most_rounds, [this](const Case& one) {
      const double taken = sample(one);
      records().add({{"what", "flows"},
                     {"limit", name_of(limit_)},
                     {"flows", one.crew->flows.size()},
                     {"pairs", one.crew->groups},
                     {"bytes", one.bytes},
                     {"messages", one.messages},
                     {"window", one.window},
                     {"both_ways", one.both_ways}},
                    taken);
    });
    sent_ = {};
    received_ = {};
    records().publish(0, site().rank, pass);
  }

 private:
  /// The flows of `groups` groups at once, and a communicator of the participating ranks.
  struct Crew {
    int groups;
    std::vector<Flow> flows;
    MPI_Comm comm;
  };
  struct Case {
    const Crew* crew;
    std::size_t bytes;
    int window;
    bool both_ways;
    double wanted;     // seconds of a sample
    int messages = 4;  // of each flow
  };

  Crew make_crew(int count) {
    Crew crew{count, {}, mpi.comm_null};
    for (int group = 0; group < count; ++group) {
      const auto& flows = groups_[static_cast<std::size_t>(group)];
      crew.flows.insert(crew.flows.end(), flows.begin(), flows.end());
    }
    mpi.Comm_split(mpi.comm_world, own_flow(crew) == nullptr ? mpi.undefined : 0, site().rank, &crew.comm);
    return crew;
  }

  /// Returns the flow of which this rank is an end, or nullptr.
  const Flow* own_flow(const Crew& crew) const {
    const auto found = std::find_if(crew.flows.begin(), crew.flows.end(), [this](const Flow& flow) {
      return flow.sender == site().rank || flow.receiver == site().rank;
    });
    return found == crew.flows.end() ? nullptr : &*found;
  }

  void list_cases() {
    constexpr double large_seconds = 30e-3;
    constexpr double tiny_seconds = 10e-3;
    constexpr std::size_t shortest = std::size_t{64} << 10U;
    constexpr std::size_t longest = std::size_t{1} << 20U;
    // Messages take some milliseconds at most, and samples are large compared with a bucket.
    const auto in_time = static_cast<std::size_t>(std::max(1.0, level_.bandwidth * 10e-3));
    const std::size_t large = std::clamp(std::bit_floor(in_time), shortest, longest);
    const double seconds = std::max(large_seconds, 6 * level_.burst / level_.bandwidth);
    for (const Crew& crew : crews_) {
      cases_.push_back({&crew, large, 4, false, seconds});
      if (limit_ == Limit::memory) continue;
      // Tiny messages go as a stream, and one at a time from each rank.
      cases_.push_back({&crew, tiny, 16, false, tiny_seconds});
      cases_.push_back({&crew, tiny, 1, true, tiny_seconds});
    }
  }

  /// All ranks know all times, and so compute the same number.
  void choose_count(Case& one) {
    const double first = sample(one);  // connects the ranks
    const double each = std::min(first, sample(one)) / one.messages;
    constexpr double most = 20000;
    one.messages = static_cast<int>(std::clamp(std::ceil(one.wanted / each), 4.0, most));
  }

  /// Returns the seconds until the last flow has ended.
  double sample(const Case& one) {
    double seconds = 0;
    if (const Flow* flow = own_flow(*one.crew)) {
      const bool large = one.bytes > tiny;
      line_up(one.crew->comm);
      if (large && level_.burst > 0) {
        // First uses up the bytes that the links have saved up.
        const auto flows_of_link =
            static_cast<double>(one.crew->flows.size()) / (limit_ == Limit::fabric ? one.crew->groups : 1);
        const double share = 1.5 * level_.burst / static_cast<double>(one.bytes) / flows_of_link;
        stream(*flow, one.bytes, static_cast<int>(std::ceil(share)), one.window);
        line_up(one.crew->comm);
      }
      const double begin = seconds_now();
      if (one.both_ways) {
        exchange(*flow, one.bytes, one.messages);
      } else {
        stream(*flow, one.bytes, one.messages, one.window);
      }
      seconds = seconds_now() - begin;
    }
    return meet({seconds}, on_progress())[0];
  }

  /// Sends or receives a stream. The sender's time ends with an answer of the receiver.
  void stream(const Flow& flow, std::size_t bytes, int messages, int window) {
    const bool sends = flow.sender == site().rank;
    const int partner = sends ? flow.receiver : flow.sender;
    const auto slots = static_cast<std::size_t>(window);
    std::vector<MPI_Request> requests(slots, mpi.request_null);
    for (std::size_t i = 0; i < static_cast<std::size_t>(messages); ++i) {
      MPI_Request& request = requests[i % slots];
      finish(request);
      request = sends ? send(partner, bytes) : receive(partner, bytes, i % slots);
    }
    finish(requests);
    finish(sends ? receive(partner, 1, 0) : send(partner, 1));
  }

  void exchange(const Flow& flow, std::size_t bytes, int messages) {
    const int partner = flow.sender == site().rank ? flow.receiver : flow.sender;
    for (int i = 0; i < messages; ++i) {
      std::array<MPI_Request, 2> requests{receive(partner, bytes, 0), mpi.request_null};
      requests[1] = send(partner, bytes);
      finish(requests);
    }
  }

  void reserve() {
    std::size_t sent = 1;
    std::size_t received = 1;
    for (const Case& one : cases_) {
      if (own_flow(*one.crew) == nullptr) continue;
      sent = std::max(sent, one.bytes);
      received = std::max(received, one.bytes * static_cast<std::size_t>(one.window));
    }
    sent_.resize(sent);
    received_.resize(received);
  }

  MPI_Request send(int partner, std::size_t bytes) const {
    MPI_Request request = mpi.request_null;
    check(mpi.Isend(sent_.data(), static_cast<int>(bytes), mpi.byte, partner, flow_tag, mpi.comm_world,
                    &request));
    return request;
  }

  MPI_Request receive(int partner, std::size_t bytes, std::size_t slot) {
    MPI_Request request = mpi.request_null;
    check(mpi.Irecv(received_.data() + slot * bytes, static_cast<int>(bytes), mpi.byte, partner, flow_tag,
                    mpi.comm_world, &request));
    return request;
  }

  Limit limit_;
  std::vector<std::vector<Flow>> groups_;
  const Level& level_;
  std::vector<Crew> crews_;
  std::vector<Case> cases_;
  std::vector<std::byte> sent_;
  std::vector<std::byte> received_;
};

}  // namespace

bool has_flows(const Site& site, Limit limit) {
  return !list_groups(site.topology, limit).empty();
}

std::unique_ptr<Phase> make_flows(Site& site, Limit limit, const Phase::OnProgress& on_progress) {
  return std::make_unique<Flows>(site, limit, on_progress);
}

}  // namespace stretto::bench
