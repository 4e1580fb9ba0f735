// SPDX-License-Identifier: Apache-2.0
#include "team.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include "../calls.hpp"
#include "../library.hpp"
#include "engine/patience.hpp"
#include "waiting.hpp"

namespace stretto::bench {
namespace {

constexpr int order_tag = 1;
constexpr int ready_tag = 2;
constexpr int message_tag = 3;
constexpr int acknowledgement_tag = 4;
constexpr int unused_tag = 7;

void check(int code) {
  if (code != MPI_SUCCESS) fail("calibration", code);
}

void finish_one(MPI_Request request) {
  finish(std::span(&request, 1));
}

}  // namespace

Team::Team(std::vector<int> ranks, int rank) : ranks_(std::move(ranks)), rank_(rank) {}

bool Team::takes_part() const {
  return std::find(ranks_.begin(), ranks_.end(), rank_) != ranks_.end();
}

double Team::round_trips(std::size_t bytes, std::size_t reply_bytes, int count) {
  reserve(bytes, reply_bytes);
  command({Task::round_trips, count, 1, bytes, reply_bytes, 0});
  const double begin = PMPI_Wtime();
  for (int i = 0; i < count; ++i) {
    // The receive first, as the engine does.
    std::array requests{receive(reply_bytes, message_tag), MPI_REQUEST_NULL};
    requests[1] = send(bytes, message_tag);
    finish(requests);
  }
  return (PMPI_Wtime() - begin) / count;
}

void Team::answer_round_trips(const Order& order) {
  reserve(order.reply_bytes, order.bytes);
  MPI_Request arriving = receive(order.bytes, message_tag);
  say_ready();
  for (int i = 0; i < order.count; ++i) {
    finish_one(arriving);
    if (i + 1 < order.count) arriving = receive(order.bytes, message_tag);
    finish_one(send(order.reply_bytes, message_tag));
  }
}

double Team::exchanges(std::size_t bytes, int messages, int count) {
  reserve(bytes, bytes * static_cast<std::size_t>(messages));
  const Order order{Task::exchanges, count, messages, bytes, bytes, 0};
  command(order);
  const double begin = PMPI_Wtime();
  make_exchanges(order);
  return (PMPI_Wtime() - begin) / count;
}

void Team::make_exchanges(const Order& order) {
  const auto messages = static_cast<std::size_t>(order.messages);
  std::vector<MPI_Request> requests(2 * messages);
  for (int i = 0; i < order.count; ++i) {
    for (std::size_t j = 0; j < messages; ++j) requests[j] = receive(order.bytes, message_tag, j);
    for (std::size_t j = 0; j < messages; ++j) requests[messages + j] = send(order.bytes, message_tag);
    finish(requests);
  }
}

std::vector<double> Team::train(std::size_t bytes, int count, int window) {
  const auto all = static_cast<std::size_t>(count);
  reserve(bytes, all);
  std::vector<MPI_Request> acknowledgements(all);
  for (std::size_t i = 0; i < all; ++i) acknowledgements[i] = receive(1, acknowledgement_tag, i);
  command({Task::train, count, window, bytes, 1, 0});

  auto* const test = LIBRARY(PMPI_Test);
  std::vector<MPI_Request> sends(static_cast<std::size_t>(window), MPI_REQUEST_NULL);
  std::vector<double> seconds;
  Patience patience;
  const double begin = PMPI_Wtime();
  for (int sent = 0; seconds.size() < all;) {
    bool moved = false;
    for (MPI_Request& request : sends) {
      int done = 0;
      check(test(&request, &done, MPI_STATUS_IGNORE));
      if (done == 0 || sent == count) continue;
      request = send(bytes, message_tag);
      ++sent;
      moved = true;
    }
    int done = 0;
    check(test(&acknowledgements[seconds.size()], &done, MPI_STATUS_IGNORE));
    if (done != 0) seconds.push_back(PMPI_Wtime() - begin);
    if (done != 0 || moved) {
      patience.fruitful();
    } else {
      patience.fruitless();
    }
  }
  finish(sends);
  return seconds;
}

void Team::answer_train(const Order& order) {
  const auto window = static_cast<std::size_t>(order.messages);
  const auto count = static_cast<std::size_t>(order.count);
  reserve(1, order.bytes * window);
  std::vector<MPI_Request> arriving(window, MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < std::min(window, count); ++i) {
    arriving[i] = receive(order.bytes, message_tag, i);
  }
  say_ready();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t slot = i % window;
    finish_one(arriving[slot]);
    arriving[slot] = i + window < count ? receive(order.bytes, message_tag, slot) : MPI_REQUEST_NULL;
    finish_one(send(1, acknowledgement_tag));
  }
}

bool Team::goes_eagerly(std::size_t bytes, double seconds) {
  reserve(bytes, 1);
  // The receiver sleeps from a later moment on: whatever holds this rank up, what ends before `seconds` have
  // passed has ended without a receive.
  const double begin = PMPI_Wtime();
  command({Task::eager, 1, 1, bytes, 1, seconds});
  MPI_Request request = send(bytes, message_tag);
  auto* const test = LIBRARY(PMPI_Test);
  Patience patience;
  int done = 0;
  bool eager = false;
  while (done == 0 && PMPI_Wtime() - begin < seconds) {
    check(test(&request, &done, MPI_STATUS_IGNORE));
    eager = done != 0 && PMPI_Wtime() - begin < seconds;
    patience.fruitless();
  }
  std::array rest{request, receive(1, acknowledgement_tag)};
  finish(rest);
  return eager;
}

double Team::work(int which, int count) {
  command({Task::work, count, which, 1, 1, 0});
  const double begin = PMPI_Wtime();
  work_(which, count);
  return (PMPI_Wtime() - begin) / count;
}

void Team::dismiss() {
  command({Task::dismiss, 1, 1, 1, 1, 0});
}

void Team::serve() {
  Order order{};
  do {
    await_order(order);
    follow(order);
  } while (order.task != Task::dismiss);
}

void Team::follow(const Order& order) {
  switch (order.task) {
    case Task::round_trips:
      return answer_round_trips(order);
    case Task::train:
      return answer_train(order);
    case Task::exchanges:
      reserve(order.bytes, order.bytes * static_cast<std::size_t>(order.messages));
      say_ready();
      return make_exchanges(order);
    case Task::eager:
      reserve(1, order.bytes);
      say_ready();
      look_for(order.seconds);
      finish_one(receive(order.bytes, message_tag));
      return finish_one(send(1, acknowledgement_tag));
    case Task::work:
      say_ready();
      return work_(order.messages, order.count);
    case Task::dismiss:
      return say_ready();
  }
}

/// The library may do what it does without a receive: Open MPI's shared memory takes a part of that to end an
/// eager send.
void Team::look_for(double seconds) const {
  auto* const probe = LIBRARY(PMPI_Iprobe);
  for (const double begin = PMPI_Wtime(); PMPI_Wtime() - begin < seconds;) {
    int found = 0;
    check(probe(partner(), unused_tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void Team::command(const Order& order) {
  std::vector<MPI_Request> requests;
  for (std::size_t i = 1; i < ranks_.size(); ++i) {
    check(LIBRARY(PMPI_Irecv)(nullptr, 0, MPI_BYTE, ranks_[i], ready_tag, MPI_COMM_WORLD,
                              &requests.emplace_back()));
    check(LIBRARY(PMPI_Isend)(&order, sizeof order, MPI_BYTE, ranks_[i], order_tag, MPI_COMM_WORLD,
                              &requests.emplace_back()));
  }
  finish(requests);
}

void Team::await_order(Order& order) const {
  MPI_Request request = MPI_REQUEST_NULL;
  check(LIBRARY(PMPI_Irecv)(&order, sizeof order, MPI_BYTE, ranks_.front(), order_tag, MPI_COMM_WORLD,
                            &request));
  finish_one(request);
}

void Team::say_ready() const {
  MPI_Request request = MPI_REQUEST_NULL;
  check(LIBRARY(PMPI_Isend)(nullptr, 0, MPI_BYTE, ranks_.front(), ready_tag, MPI_COMM_WORLD, &request));
  finish_one(request);
}

void Team::reserve(std::size_t sent, std::size_t received) {
  // Written when it is made, so that the system gives the pages now, not in a timed message.
  if (sent_.size() < sent) sent_.resize(sent);
  if (received_.size() < received) received_.resize(received);
}

void Team::release() {
  sent_ = {};
  received_ = {};
}

MPI_Request Team::send(std::size_t bytes, int tag) const {
  MPI_Request request = MPI_REQUEST_NULL;
  check(LIBRARY(PMPI_Isend)(sent_.data(), static_cast<int>(bytes), MPI_BYTE, partner(), tag, MPI_COMM_WORLD,
                            &request));
  return request;
}

MPI_Request Team::receive(std::size_t bytes, int tag, std::size_t slot) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(LIBRARY(PMPI_Irecv)(received_.data() + slot * bytes, static_cast<int>(bytes), MPI_BYTE, partner(),
                            tag, MPI_COMM_WORLD, &request));
  return request;
}

}  // namespace stretto::bench
