// SPDX-License-Identifier: Apache-2.0
#include "model/walker.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>
#include <stdexcept>
#include <utility>

#include "model/copy_ports.hpp"
#include "model/cut.hpp"
#include "model/server.hpp"

namespace stretto {
namespace {

/// The first and the last server of a rank's messages.
struct Ports {
  Server out;
  Server in;
};

/// A message in flight.
struct Message {
  std::uint32_t send = 0;  // its step
  std::uint32_t segment = 0;
  double bytes = 0;
  Interval interval;
  std::uint64_t number = 0;  // of its send, in the order in which they are posted
};

enum class Stage : std::uint8_t { leaves, goes_out, arrives, is_there, is_sent, is_fetched };

struct Event {
  double at = 0;
  std::uint64_t number = 0;   // if two events are at the same time, the lower number comes first
  std::uint32_t message = 0;  // or the flight, if is_fetched
  Stage stage = Stage::leaves;

  friend bool operator<(const Event& one, const Event& other) {
    return std::pair(one.at, one.number) > std::pair(other.at, other.number);
  }
};

class Walker {
 public:
  Walker(const Plan& plan, const WalkedCall& call, const Machine& machine, const WalkOptions& options,
         const StagedBlocks* staged)
      : plan_(plan),
        machine_(machine),
        options_(options),
        cut_(plan, call),
        element_bytes_(static_cast<double>(call.element_bytes)),
        in_flight_(std::min(cut_.segments(), call.pipelining.in_flight())),
        is_direct_(machine.shared && options.model != CostModel::postal && plan.topology().nodes == 1 &&
                   staged == nullptr && in_flight_ == 1 &&
                   (cut_.segments() == 1 || !has_block_of_each_rank(call.collective))),
        engine_message_(options.engine ? machine.engine_message : 0),
        engine_round_(options.engine ? machine.engine_round : 0),
        reduction_(options.arithmetic ? machine.reduction_seconds(call.rated()) : 0),
        vector_bytes_(call.rated()),
        cores_(ranks()),
        begins_(ranks(), std::numeric_limits<double>::infinity()),
        network_ports_(ranks()),
        node_ports_(ranks()),
        links_(static_cast<std::size_t>(plan.topology().nodes)),
        memories_(links_.size()),
        pairs_(plan.pairs()),
        node_pairs_(plan.node_pairs()),
        flights_(ranks() * in_flight_),
        meetings_(plan.steps() * cut_.segments(), nobody) {
    if (machine.shared && is_limited() && machine.memory.bandwidth > 0 &&
        vector_bytes_ >= machine.memory.from) {
      // The number of slots that pass while every rank writes a vector.
      constexpr double slots = 4096;
      const double all = static_cast<double>(vector_bytes_) * static_cast<double>(ranks());
      stores_.assign(links_.size(), {machine.memory.bandwidth, all / machine.memory.bandwidth / slots});
    }
    if (staged != nullptr) copies_.emplace(*staged, call, machine.device.value_or(Device{}), cut_, ranks());
    if (const SharedCores& shared = machine.shared_cores; shared.cores > 0) {
      const auto nodes = static_cast<std::size_t>(shared.nodes);
      hosts_.assign((links_.size() + nodes - 1) / nodes,
                    std::vector<double>(static_cast<std::size_t>(shared.cores)));
    }
  }

  Walk run(std::span<const Instant> starts) {
    std::ranges::copy(starts, cores_.begin());
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      for (std::size_t flight = 0; flight < in_flight_; ++flight) {
        flights_[rank * in_flight_ + flight].segment = static_cast<std::uint32_t>(flight);
        begin_segment(static_cast<int>(rank), flight);
      }
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      take(event);
    }
    for (int rank = 0; copies_ && rank < plan_.ranks(); ++rank) core(rank) = copies_->end(rank, core(rank));
    walk_.ends = std::move(cores_);
    walk_.begins = std::move(begins_);
    return std::move(walk_);
  }

 private:
  /// The seconds of a core that reads.
  struct Costs {
    double pieces = 0;
    double wire = 0;
    double reduction = 0;

    [[nodiscard]] double all() const { return pieces + wire + reduction; }
  };
  /// A slot for one segment at a time.
  struct Flight {
    std::uint32_t segment = 0;
    std::uint32_t round = 0;
    std::uint32_t outstanding = 0;
    // Only for the fold of its round:
    std::uint32_t missing = 0;  // messages that have not begun to arrive
    Interval interval{};        // of all of them
    Costs costs{};
  };
  // The state of the meeting of a send and a receive is `nobody`, `posted` (the receive), or the message that
  // waits for the receive. If a receive waits for a synchronous send, the state is a message that has no
  // sender yet.
  static constexpr std::uint32_t nobody = UINT32_MAX;
  static constexpr std::uint32_t posted = UINT32_MAX - 1;

  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(plan_.ranks()); }
  Instant& core(int rank) { return cores_[static_cast<std::size_t>(rank)]; }
  Flight& flight_of(int rank, std::size_t segment) {
    return flights_[static_cast<std::size_t>(rank) * in_flight_ + segment % in_flight_];
  }
  [[nodiscard]] Level level(const Plan::Step& step) const {
    if (options_.model == CostModel::postal) return Level::network;
    const Topology& topology = plan_.topology();
    if (topology.node(step.rank) != topology.node(step.peer)) return Level::network;
    const auto socket = [&](int rank) { return topology.socket_of[static_cast<std::size_t>(rank)]; };
    return socket(step.rank) == socket(step.peer) ? Level::socket : Level::node;
  }
  /// Whether a message goes through the shared memory of a node.
  [[nodiscard]] bool is_shared(const Plan::Step& step) const {
    return machine_.shared && level(step) != Level::network;
  }
  [[nodiscard]] const Protocol& protocol(const Plan::Step& step, double bytes) const {
    return machine_.protocol(level(step), static_cast<std::size_t>(bytes));
  }
  [[nodiscard]] double bytes_of(const Plan::Step& step, std::size_t segment) const {
    return static_cast<double>(cut_.elements(step.run, segment)) * element_bytes_;
  }

  void begin_at(int rank, double at) {
    double& begin = begins_[static_cast<std::size_t>(rank)];
    begin = std::min(begin, at);
  }

  void schedule(double at, std::uint32_t message, Stage stage) {
    events_.push({at, next_number_++, message, stage});
  }
  /// Lets a message leave. If several may leave at the same time, the one whose send was posted first leaves
  /// first. In the order of the receives, all ranks would serve the same rank last.
  void leave_at(std::uint32_t message, const Instant& now) {
    messages_[message].interval = {now, now};
    events_.push({now.at(), messages_[message].number, message, Stage::leaves});
  }
  std::uint32_t new_message(const Message& message) {
    if (unused_.empty()) {
      messages_.push_back(message);
      return static_cast<std::uint32_t>(messages_.size() - 1);
    }
    const std::uint32_t index = unused_.back();
    unused_.pop_back();
    messages_[index] = message;
    return index;
  }

  // Actions of a rank. Its core does one thing after another.

  void work(int rank, double seconds, Part part) {
    Instant& now = core(rank);
    if (!hosts_.empty() && seconds > 0) {
      std::vector<double>& host = hosts_[static_cast<std::size_t>(plan_.topology().node(rank)) /
                                         static_cast<std::size_t>(machine_.shared_cores.nodes)];
      double& free = *std::ranges::min_element(host);
      if (free > now.at()) now = now.after(free - now.at(), Part::waiting);
      free = now.at() + seconds;
    }
    now = now.after(seconds, part);
  }

  void begin_segment(int rank, std::size_t flight) {
    Flight& walk = flights_[static_cast<std::size_t>(rank) * in_flight_ + flight];
    walk.round = plan_.first_round(rank);
    if (copies_) copies_->fetch_until(rank, walk.segment, core(rank));
    go_on(rank, walk);
  }

  /// Whether a flight may begin its next round. If not, it goes on when the blocks of that round have been
  /// fetched.
  bool has_what_it_reads(int rank, const Flight& flight) {
    if (!copies_) return true;
    const Instant* arrival = copies_->arrival(rank, flight.segment, flight.round - plan_.first_round(rank));
    if (arrival == nullptr || arrival->at() <= core(rank).at()) return true;
    schedule(arrival->at(), static_cast<std::uint32_t>(&flight - flights_.data()), Stage::is_fetched);
    return false;
  }

  void go_on_with_fetched(std::size_t flight) {
    const auto rank = static_cast<int>(flight / in_flight_);
    Flight& walk = flights_[flight];
    core(rank) =
        later(core(rank), *copies_->arrival(rank, walk.segment, walk.round - plan_.first_round(rank)));
    go_on(rank, walk);
  }

  /// Moves a flight on until it must wait.
  void go_on(int rank, Flight& flight) {
    while (true) {
      if (flight.round == plan_.end_round(rank)) {
        if (flight.segment + in_flight_ >= cut_.segments()) return;
        flight.segment += static_cast<std::uint32_t>(in_flight_);
        flight.round = plan_.first_round(rank);
        if (copies_) copies_->fetch_until(rank, flight.segment, core(rank));
        continue;
      }
      if (is_direct_ && plan_.is_in_fold(flight.round)) {
        ++flight.round;
        continue;
      }
      if (!has_what_it_reads(rank, flight)) return;
      post_round(rank, flight);
      if (flight.outstanding > 0) return;
      end_round(rank, flight);
    }
  }

  void end_round(int rank, Flight& flight) {
    // In a direct call, no operation goes through the rounds.
    if (!is_direct_) work(rank, engine_round_, Part::overhead);
    if (copies_) {
      copies_->put_back(rank, flight.segment, flight.round - plan_.first_round(rank), core(rank));
    }
    ++flight.round;
  }

  void post_round(int rank, Flight& flight) {
    const std::uint32_t begin = plan_.first_step(flight.round);
    const std::uint32_t end = plan_.first_step(flight.round + 1);
    for (std::uint32_t step = begin; step < end; ++step) {
      if (plan_.step(step).kind == Kind::recv || plan_.step(step).kind == Kind::recv_reduce) {
        post_receive(step, flight);
      }
    }
    for (std::uint32_t index = begin; index < end; ++index) {
      const Plan::Step& step = plan_.step(index);
      if (step.kind == Kind::send) post_send(index, flight);
      if (step.kind == Kind::reduce || step.kind == Kind::copy) {
        // A copy reads and writes less than a reduction; nobody has measured how much faster it is.
        work(rank, bytes_of(step, flight.segment) * reduction_, Part::reduction);
      }
    }
  }

  std::uint32_t& meeting(std::uint32_t receive, std::size_t segment) {
    return meetings_[segment * plan_.steps() + receive];
  }

  void post_receive(std::uint32_t index, Flight& flight) {
    const Plan::Step& step = plan_.step(index);
    const double bytes = bytes_of(step, flight.segment);
    if (bytes == 0) return;
    ++flight.outstanding;
    if (is_direct_ && step.is_folded) ++flight.missing;
    std::uint32_t& here = meeting(index, flight.segment);
    const Instant& now = core(step.rank);
    if (here != nobody) {
      // Either the message has arrived, or its sender waits for this receive.
      Message& message = messages_[here];
      if (is_synchronous(step, bytes)) {
        leave_at(here, later(message.interval.begin, now));
      } else {
        const Instant& ready = is_shared(step) ? message.interval.begin : message.interval.end;
        schedule(std::max(now.at(), ready.at()), here, Stage::is_there);
      }
    } else if (is_synchronous(step, bytes)) {
      here = new_message({step.partner, flight.segment, bytes, {now, now}, 0});
    } else {
      here = posted;
    }
  }

  void post_send(std::uint32_t index, Flight& flight) {
    const Plan::Step& step = plan_.step(index);
    const double bytes = bytes_of(step, flight.segment);
    if (bytes == 0) return;
    ++walk_.messages;
    const Instant& now = core(step.rank);
    begin_at(step.rank, now.at());
    if (is_shared(step)) return write_message(index, flight, bytes);
    work(step.rank, engine_message_ + protocol(step, bytes).core_seconds(bytes), Part::overhead);
    if (!is_synchronous(step, bytes)) {
      leave_at(new_message({index, flight.segment, bytes, {}, next_number_++}), now);
      return;
    }
    ++flight.outstanding;
    std::uint32_t& there = meeting(step.partner, flight.segment);
    if (there == nobody) {
      there = new_message({index, flight.segment, bytes, {now, now}, next_number_++});
    } else {
      messages_[there].number = next_number_++;
      leave_at(there, later(messages_[there].interval.begin, now));
    }
  }

  [[nodiscard]] bool is_synchronous(const Plan::Step& step, double bytes) const {
    return !is_shared(step) && protocol(step, bytes).synchronous;
  }

  /// Copies a message into shared memory, piece by piece. The message is there when its first piece is. (In
  /// fact, a writer that is four pieces ahead of its reader does something else first.) For a further reader
  /// of a publication, only lines that announce it are written, along with those for the first reader.
  void write_message(std::uint32_t index, const Flight& flight, double bytes) {
    const Plan::Step& step = plan_.step(index);
    const SharedMemory& shared = *machine_.shared;
    const double pieces = SharedMemory::pieces(bytes);
    const bool is_there = is_direct_ && step.is_published;
    const double overhead = is_there ? shared.overhead_of_reader(bytes) : shared.overhead(bytes);
    const double of_pieces = options_.engine ? overhead : 0;
    const double of_bytes = is_there ? 0 : shared.write_seconds(bytes, vector_bytes_) - overhead;
    const Instant begin = core(step.rank);
    work(step.rank, of_pieces, Part::overhead);
    work(step.rank, of_bytes, Part::wire);
    const Instant& end = core(step.rank);
    if (is_there) {
      published_ = {published_.begin.after(of_pieces / pieces, Part::overhead), later(published_.end, end)};
    } else {
      published_ = {begin.after((of_pieces + of_bytes) / pieces, Part::wire), end};
      published_ = through_memory(published_, step, bytes);
    }
    const double latency = shared.lines_at(plan_.distance(step)).latency;
    const Interval interval{published_.begin.after(latency, Part::latency),
                            published_.end.after(latency, Part::latency)};
    const std::uint32_t message = new_message({index, flight.segment, bytes, interval, next_number_++});
    schedule(interval.begin.at(), message, Stage::arrives);
  }

  /// Lets a copy between memory and a store use the memory. A copy counts as half a message.
  Interval through_memory(const Interval& interval, const Plan::Step& step, double bytes) {
    if (stores_.empty()) return interval;
    return stores_[static_cast<std::size_t>(plan_.topology().node(step.rank))].pass(interval, bytes / 2);
  }

  [[nodiscard]] Costs costs_of(const Plan::Step& step, double bytes) const {
    const SharedMemory& shared = *machine_.shared;
    const double of_pieces = shared.overhead(bytes);
    const double reading = shared.read_seconds(bytes, vector_bytes_, plan_.distance(step)) - of_pieces;
    const bool reduces = step.kind == Kind::recv_reduce || (is_direct_ && step.is_folded);
    const double all = reduces && options_.arithmetic
                           ? shared.reduce_seconds(bytes, vector_bytes_, plan_.distance(step)) - of_pieces
                           : reading;
    return {.pieces = options_.engine ? of_pieces : 0,
            .wire = std::min(all, reading),
            .reduction = std::max(all - reading, 0.0)};
  }

  /// Works on a message that arrives in `interval`. Its last piece is worked on after that has been written.
  void read(int rank, const Interval& interval, const Costs& costs, double pieces) {
    Instant& now = core(rank);
    now = later(interval.begin, now);
    work(rank, costs.pieces, Part::overhead);
    work(rank, costs.wire, Part::wire);
    work(rank, costs.reduction, Part::reduction);
    now = later(interval.end.after((costs.wire + costs.reduction) / pieces, Part::wire), now);
  }

  void read_message(const Message& message, const Plan::Step& step) {
    const double pieces = SharedMemory::pieces(message.bytes);
    if (is_direct_ && step.is_folded) return fold(message, step, pieces);
    Instant& now = core(step.rank);
    const Instant begin = later(message.interval.begin, now);
    read(step.rank, message.interval, costs_of(step, message.bytes), pieces);
    now = through_memory({begin, now}, step, message.bytes).end;
  }

  /// A fold begins when all of its messages have begun to arrive. Its results stay in the caches.
  void fold(const Message& message, const Plan::Step& step, double pieces) {
    Flight& flight = flight_of(step.rank, message.segment);
    const Costs more = costs_of(step, message.bytes);
    flight.costs.pieces += more.pieces;
    flight.costs.wire += more.wire;
    flight.costs.reduction += more.reduction;
    flight.interval = {later(flight.interval.begin, message.interval.begin),
                       later(flight.interval.end, message.interval.end)};
    if (--flight.missing > 0) return;
    read(step.rank, flight.interval, flight.costs, pieces);
    flight.interval = {};
    flight.costs = {};
  }

  void finish(int rank, std::size_t segment) {
    Flight& flight = flight_of(rank, segment);
    if (--flight.outstanding > 0) return;
    end_round(rank, flight);
    go_on(rank, flight);
  }

  // The path of a message.

  void take(const Event& event) {
    if (event.stage == Stage::is_fetched) return go_on_with_fetched(event.message);
    const Message message = messages_[event.message];
    const Plan::Step& send = plan_.step(message.send);
    switch (event.stage) {
      case Stage::leaves:
        return leave(event.message, send);
      case Stage::goes_out:
        return go_out(event.message, send);
      case Stage::arrives:
        return arrive(event.message, send);
      case Stage::is_there:
        unused_.push_back(event.message);
        return receive(message, send);
      case Stage::is_sent:
        return finish(send.rank, message.segment);
      case Stage::is_fetched:
        return;
    }
  }

  [[nodiscard]] bool is_limited() const { return options_.model == CostModel::max_rate; }

  /// Passes a port, a node's link, or the shared link of two ranks or nodes. If the link is not fully duplex,
  /// the other direction waits: from now on, not from the end of this message, because until then it may
  /// continue.
  Interval through(Ports& port, bool out, const Interval& interval, double bytes, const Limit& limit,
                   double both, int rank) {
    if (options_.overlap == Overlap::none) both = 0;
    if (options_.overlap != Overlap::full && both < 1 && limit.bandwidth > 0) {
      (out ? port.in : port.out).occupy(now_, (1 - both) * bytes / limit.bandwidth);
    }
    return (out ? port.out : port.in).pass(interval, bytes, limit, rank);
  }
  static Limit speed_of(double bandwidth) { return {.bandwidth = bandwidth, .message_rate = 0, .burst = 0}; }

  [[nodiscard]] Limit limit_of(std::size_t node) const {
    return machine_.limit_of(static_cast<int>(node), plan_.topology().nodes);
  }

  Ports& ports(int rank, bool by_network) {
    return (by_network ? network_ports_ : node_ports_)[static_cast<std::size_t>(rank)];
  }

  /// Passes the link between two ranks, and the link between two nodes, which their ranks share.
  Interval exchange(const Plan::Step& send, const Message& message, const Protocol& cost, bool by_network,
                    const Interval& interval) {
    // A single owner: both messages belong to the same exchange.
    const auto pair = static_cast<int>(send.pair);
    const Interval result = through(pairs_[send.pair], send.rank < send.peer, interval, message.bytes,
                                    speed_of(cost.bandwidth), cost.exchange, pair);
    if (!by_network || !is_limited() || machine_.node.bandwidth == 0) return result;
    const Topology& topology = plan_.topology();
    return through(node_pairs_[send.node_pair], topology.node(send.rank) < topology.node(send.peer), result,
                   message.bytes, speed_of(machine_.node.bandwidth), cost.exchange,
                   static_cast<int>(send.node_pair));
  }

  void leave(std::uint32_t index, const Plan::Step& send) {
    Message& message = messages_[index];
    now_ = message.interval.begin;
    const Protocol& cost = protocol(send, message.bytes);
    message.interval = through(ports(send.rank, level(send) == Level::network), true, message.interval,
                               message.bytes, speed_of(cost.bandwidth), cost.duplex, send.rank);
    // A message that still waits for its port blocks nobody: others of its node go first.
    if (message.interval.begin.at() > now_.at()) {
      schedule(message.interval.begin.at(), index, Stage::goes_out);
    } else {
      go_out(index, send);
    }
  }

  void go_out(std::uint32_t index, const Plan::Step& send) {
    Message& message = messages_[index];
    now_ = message.interval.begin;
    const Protocol& cost = protocol(send, message.bytes);
    const bool by_network = level(send) == Level::network;
    Interval interval = message.interval;
    if (cost.exchange < 1) interval = exchange(send, message, cost, by_network, interval);
    const auto node = static_cast<std::size_t>(plan_.topology().node(send.rank));
    if (is_limited() && by_network) {
      interval = through(links_[node], true, interval, message.bytes, limit_of(node), cost.duplex, send.rank);
    } else if (is_limited() && vector_bytes_ >= machine_.memory.from) {
      interval = memories_[node].pass(interval, message.bytes, machine_.memory, send.rank);
    }
    if (cost.synchronous) schedule(interval.end.at(), index, Stage::is_sent);
    message.interval = {interval.begin.after(cost.latency, Part::latency),
                        interval.end.after(cost.latency, Part::latency)};
    schedule(message.interval.begin.at(), index, Stage::arrives);
  }

  void arrive(std::uint32_t index, const Plan::Step& send) {
    Message& message = messages_[index];
    if (is_shared(send)) {
      std::uint32_t& there = meeting(send.partner, message.segment);
      if (there == posted) return schedule(message.interval.begin.at(), index, Stage::is_there);
      there = index;
      return;
    }
    now_ = message.interval.begin;
    const Protocol& cost = protocol(send, message.bytes);
    const bool by_network = level(send) == Level::network;
    if (is_limited() && by_network) {
      const auto node = static_cast<std::size_t>(plan_.topology().node(send.peer));
      message.interval = fabric_.pass(message.interval, message.bytes, machine_.fabric, send.rank);
      message.interval = through(links_[node], false, message.interval, message.bytes, limit_of(node),
                                 cost.duplex, send.rank);
    }
    message.interval = through(ports(send.peer, by_network), false, message.interval, message.bytes,
                               speed_of(cost.bandwidth), cost.duplex, send.peer);
    std::uint32_t& there = meeting(send.partner, message.segment);
    if (cost.synchronous || there == posted) {
      schedule(message.interval.end.at(), index, Stage::is_there);
    } else {
      there = index;
    }
  }

  void receive(const Message& message, const Plan::Step& send) {
    const Plan::Step& step = plan_.step(send.partner);
    Instant& now = core(step.rank);
    if (is_shared(send)) {
      begin_at(step.rank, message.interval.begin.at());
      read_message(message, step);
      return finish(step.rank, message.segment);
    }
    begin_at(step.rank, message.interval.end.at());
    now = later(message.interval.end, now);
    work(step.rank, engine_message_ + protocol(send, message.bytes).core_seconds(message.bytes),
         Part::overhead);
    if (step.kind == Kind::recv_reduce) work(step.rank, message.bytes * reduction_, Part::reduction);
    finish(step.rank, message.segment);
  }

  const Plan& plan_;
  const Machine& machine_;
  WalkOptions options_;
  Cut cut_;
  double element_bytes_;
  std::size_t in_flight_;
  bool is_direct_;  // publications and folds (engine/execution/direct_plan.hpp)
  double engine_message_;
  double engine_round_;
  double reduction_;  // seconds of a byte
  std::size_t vector_bytes_;

  std::vector<Instant> cores_;              // [rank] until when it is busy
  std::vector<double> begins_;              // [rank]
  std::vector<std::vector<double>> hosts_;  // [host][core] until when it is busy, if ranks share cores
  std::vector<Ports> network_ports_;
  std::vector<Ports> node_ports_;
  std::vector<Ports> links_;             // [node]
  std::vector<Server> memories_;         // [node] for messages of the MPI library
  std::vector<SharedBandwidth> stores_;  // [node] for messages through stores; empty: without limit
  std::vector<Ports> pairs_;             // of ranks; in: from the higher rank to the lower one
  std::vector<Ports> node_pairs_;        // of nodes
  Server fabric_;
  std::optional<CopyPorts> copies_;

  Instant now_;         // of the current message
  Interval published_;  // of the message that was written last
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> meetings_;  // of each receive, segment by segment
  std::vector<Message> messages_;
  std::vector<std::uint32_t> unused_;  // of messages_
  std::priority_queue<Event> events_;
  std::uint64_t next_number_ = 0;
  Walk walk_;
};

}  // namespace

const Instant& Walk::end() const {
  return *std::max_element(ends.begin(), ends.end(),
                           [](const Instant& one, const Instant& other) { return one.at() < other.at(); });
}

Walk walk(const Plan& plan, const WalkedCall& call, const Machine& machine, const WalkOptions& options,
          std::span<const Instant> starts, const StagedBlocks* staged) {
  if (call.staging == Staging::none) return Walker(plan, call, machine, options, nullptr).run(starts);
  if (staged == nullptr) throw std::invalid_argument("a staged call needs the blocks that ranks copy");
  return Walker(plan, call, machine, options, staged).run(starts);
}

}  // namespace stretto
