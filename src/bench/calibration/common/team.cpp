// SPDX-License-Identifier: Apache-2.0
#include "bench/calibration/common/team.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "bench/calibration/common/waiting.hpp"
#include "mpi/mpi.hpp"
#include "threads/backoff.hpp"
#include "threads/clock.hpp"

namespace stretto::bench {
namespace {

constexpr int order_tag = 1;
constexpr int ready_tag = 2;
constexpr int message_tag = 3;
constexpr int acknowledgement_tag = 4;
constexpr int unused_tag = 7;

}  // namespace

Team::Team(std::vector<int> ranks, int rank) : ranks_(std::move(ranks)), rank_(rank) {}

bool Team::takes_part() const {
  return std::find(ranks_.begin(), ranks_.end(), rank_) != ranks_.end();
}

double Team::round_trips(std::size_t bytes, std::size_t reply_bytes, const Row& row) {
  reserve(bytes, reply_bytes);
  const Order order{Task::round_trips, row, 1, bytes, reply_bytes, 0};
  command(order);
  const double begin = make_round_trips(order);
  return (seconds_now() - begin) / row.count;
}

double Team::make_round_trips(const Order& order) {
  double begin = 0;
  for (int i = 0; i < order.row.before + order.row.count; ++i) {
    if (i == order.row.before) begin = seconds_now();
    // Posts the receive first, as the engine does.
    std::array<MPI_Request, 2> requests{receive(order.reply_bytes, message_tag), mpi.request_null};
    requests[1] = send(order.bytes, message_tag);
    finish(requests);
  }
  return begin;
}

void Team::answer_round_trips(const Order& order) {
  const int all = order.row.before + order.row.count;
  reserve(order.reply_bytes, order.bytes);
  MPI_Request arriving = receive(order.bytes, message_tag);
  say_ready();
  for (int i = 0; i < all; ++i) {
    finish(arriving);
    if (i + 1 < all) arriving = receive(order.bytes, message_tag);
    finish(send(order.reply_bytes, message_tag));
  }
}

double Team::exchanges(std::size_t bytes, int messages, const Row& row) {
  reserve(bytes, bytes * static_cast<std::size_t>(messages));
  const Order order{Task::exchanges, row, messages, bytes, bytes, 0};
  command(order);
  const double begin = make_exchanges(order);
  return (seconds_now() - begin) / row.count;
}

double Team::make_exchanges(const Order& order) {
  const auto messages = static_cast<std::size_t>(order.messages);
  std::vector<MPI_Request> requests(2 * messages);
  double begin = 0;
  for (int i = 0; i < order.row.before + order.row.count; ++i) {
    if (i == order.row.before) begin = seconds_now();
    for (std::size_t j = 0; j < messages; ++j) requests[j] = receive(order.bytes, message_tag, j);
    for (std::size_t j = 0; j < messages; ++j) requests[messages + j] = send(order.bytes, message_tag);
    finish(requests);
  }
  return begin;
}

double Team::shifts(std::size_t bytes, const Row& row) {
  reserve(bytes, bytes);
  const Order order{Task::shifts, row, 1, bytes, bytes, 0};
  command(order);
  const double begin = make_shifts(order);
  return (seconds_now() - begin) / row.count;
}

double Team::make_shifts(const Order& order) {
  const auto place =
      static_cast<std::size_t>(std::find(ranks_.begin(), ranks_.end(), rank_) - ranks_.begin());
  const int next = ranks_[(place + 1) % ranks_.size()];
  const int previous = ranks_[(place + ranks_.size() - 1) % ranks_.size()];
  double begin = 0;
  for (int i = 0; i < order.row.before + order.row.count; ++i) {
    if (i == order.row.before) begin = seconds_now();
    std::array<MPI_Request, 2> requests{receive_from(previous, order.bytes, message_tag, 0),
                                        mpi.request_null};
    requests[1] = send_to(next, order.bytes, message_tag);
    finish(requests);
  }
  return begin;
}

std::vector<double> Team::train(std::size_t bytes, int count, int window) {
  const auto all = static_cast<std::size_t>(count);
  reserve(bytes, all);
  std::vector<MPI_Request> acknowledgements(all);
  for (std::size_t i = 0; i < all; ++i) acknowledgements[i] = receive(1, acknowledgement_tag, i);
  command({Task::train, {count}, window, bytes, 1, 0});

  auto* const test = mpi.Test;
  std::vector<MPI_Request> sends(static_cast<std::size_t>(window), mpi.request_null);
  std::vector<double> seconds;
  Backoff backoff;
  const double begin = seconds_now();
  for (int sent = 0; seconds.size() < all;) {
    bool moved = false;
    for (MPI_Request& request : sends) {
      int done = 0;
      check(test(&request, &done, mpi.status_ignore));
      if (done == 0 || sent == count) continue;
      request = send(bytes, message_tag);
      ++sent;
      moved = true;
    }
    int done = 0;
    check(test(&acknowledgements[seconds.size()], &done, mpi.status_ignore));
    if (done != 0) seconds.push_back(seconds_now() - begin);
    if (done != 0 || moved) {
      backoff.reset();
    } else {
      backoff.wait();
    }
  }
  finish(sends);
  return seconds;
}

void Team::answer_train(const Order& order) {
  const auto window = static_cast<std::size_t>(order.messages);
  const auto count = static_cast<std::size_t>(order.row.count);
  reserve(1, order.bytes * window);
  std::vector<MPI_Request> arriving(window, mpi.request_null);
  for (std::size_t i = 0; i < std::min(window, count); ++i) {
    arriving[i] = receive(order.bytes, message_tag, i);
  }
  say_ready();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t slot = i % window;
    finish(arriving[slot]);
    arriving[slot] = i + window < count ? receive(order.bytes, message_tag, slot) : mpi.request_null;
    finish(send(1, acknowledgement_tag));
  }
}

bool Team::goes_eagerly(std::size_t bytes, double seconds) {
  reserve(bytes, 1);
  // The receiver begins to wait later than this. So whatever delays this rank, a send that ends before
  // `seconds` have passed has ended without a receive.
  const double begin = seconds_now();
  command({Task::eager, {}, 1, bytes, 1, seconds});
  MPI_Request request = send(bytes, message_tag);
  auto* const test = mpi.Test;
  Backoff backoff;
  int done = 0;
  bool eager = false;
  while (done == 0 && seconds_now() - begin < seconds) {
    check(test(&request, &done, mpi.status_ignore));
    eager = done != 0 && seconds_now() - begin < seconds;
    backoff.wait();
  }
  std::array rest{request, receive(1, acknowledgement_tag)};
  finish(rest);
  return eager;
}

double Team::work(int which, int count) {
  command({Task::work, {count}, which, 1, 1, 0});
  const double begin = seconds_now();
  work_(which, count);
  return (seconds_now() - begin) / count;
}

void Team::dismiss() {
  command({Task::dismiss, {}, 1, 1, 1, 0});
}

void Team::serve() {
  Order order{};
  do {
    await_order(order);
    follow(order);
  } while (order.task != Task::dismiss);
}

void Team::follow(const Order& order) {
  const bool is_for_all =
      order.task == Task::shifts || order.task == Task::work || order.task == Task::dismiss;
  if (!is_for_all && !is_of_pair()) return say_ready();
  switch (order.task) {
    case Task::round_trips:
      return answer_round_trips(order);
    case Task::train:
      return answer_train(order);
    case Task::exchanges:
      reserve(order.bytes, order.bytes * static_cast<std::size_t>(order.messages));
      say_ready();
      make_exchanges(order);
      return;
    case Task::shifts:
      reserve(order.bytes, order.bytes);
      say_ready();
      make_shifts(order);
      return;
    case Task::eager:
      reserve(1, order.bytes);
      say_ready();
      probe_for(order.seconds);
      finish(receive(order.bytes, message_tag));
      return finish(send(1, acknowledgement_tag));
    case Task::work:
      say_ready();
      return work_(order.messages, order.row.count);
    case Task::dismiss:
      return say_ready();
  }
}

/// Probes for a message that never comes, so that the MPI library does its own work without a receive: Open
/// MPI's shared memory needs some of that to end an eager send.
void Team::probe_for(double seconds) const {
  auto* const probe = mpi.Iprobe;
  for (const double begin = seconds_now(); seconds_now() - begin < seconds;) {
    int found = 0;
    check(probe(partner(), unused_tag, mpi.comm_world, &found, mpi.status_ignore));
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void Team::command(const Order& order) {
  std::vector<MPI_Request> requests;
  for (std::size_t i = 1; i < ranks_.size(); ++i) {
    check(mpi.Irecv(nullptr, 0, mpi.byte, ranks_[i], ready_tag, mpi.comm_world, &requests.emplace_back()));
    check(mpi.Isend(&order, sizeof order, mpi.byte, ranks_[i], order_tag, mpi.comm_world,
                    &requests.emplace_back()));
  }
  finish(requests);
}

void Team::await_order(Order& order) const {
  MPI_Request request = mpi.request_null;
  check(mpi.Irecv(&order, sizeof order, mpi.byte, ranks_.front(), order_tag, mpi.comm_world, &request));
  finish(request);
}

void Team::say_ready() const {
  MPI_Request request = mpi.request_null;
  check(mpi.Isend(nullptr, 0, mpi.byte, ranks_.front(), ready_tag, mpi.comm_world, &request));
  finish(request);
}

void Team::reserve(std::size_t sent, std::size_t received) {
  // resize() writes the memory, so the system maps the pages now and not in a timed message.
  if (sent_.size() < sent) sent_.resize(sent);
  if (received_.size() < received) received_.resize(received);
}

void Team::release() {
  sent_ = {};
  received_ = {};
}

MPI_Request Team::send_to(int rank, std::size_t bytes, int tag) const {
  MPI_Request request = mpi.request_null;
  check(mpi.Isend(sent_.data(), static_cast<int>(bytes), mpi.byte, rank, tag, mpi.comm_world, &request));
  return request;
}

MPI_Request Team::receive_from(int rank, std::size_t bytes, int tag, std::size_t slot) {
  MPI_Request request = mpi.request_null;
  check(mpi.Irecv(received_.data() + slot * bytes, static_cast<int>(bytes), mpi.byte, rank, tag,
                  mpi.comm_world, &request));
  return request;
}

}  // namespace stretto::bench
