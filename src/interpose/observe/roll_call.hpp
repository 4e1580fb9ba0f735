// SPDX-License-Identifier: Apache-2.0
// Finds out which ranks have made a call, and which have not. The watchdogs of all ranks ask each other by
// UDP. A rank that computes, or is in MPI at any thread level, answers too, since no question or answer goes
// through MPI.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "interpose/communicators/communicator_id.hpp"
#include "sockets/address.hpp"
#include "transport/kept_file.hpp"

namespace stretto {

struct CallId {
  CommunicatorId communicator;
  /// The number of the call on its communicator, from 0 on.
  std::uint64_t number = 0;

  friend bool operator==(const CallId&, const CallId&) = default;
  friend bool operator<(const CallId& left, const CallId& right) {
    return std::tie(left.communicator, left.number) < std::tie(right.communicator, right.number);
  }
};

/// All functions except open() and wake() are for one thread.
class RollCall {
 public:
  /// Collective over MPI_COMM_WORLD. A rank that can open no socket gets no questions and no answers.
  void open();
  void close();

  /// Asks these ranks of MPI_COMM_WORLD, except this one. When called again, asks those that have not
  /// answered yet.
  void ask(const CallId& call, const std::vector<int>& ranks);

  /// How far a rank is on the communicator of a call.
  struct Standing {
    std::uint64_t calls = 0;     // that it has started
    double idle = 0;             // seconds since the start of the last one
    std::uint64_t is_in_it = 0;  // 1: it waits in the call itself
  };

  /// Waits for `seconds`, until something arrives, or until wake(). Then answers the questions that have
  /// arrived. standing_in() returns the Standing of this rank for a call.
  template <typename StandingIn>
  void serve(double seconds, const StandingIn& standing_in) {
    wait(seconds);
    while (std::optional<Question> question = receive()) {
      answer(*question, standing_in(question->call));
    }
  }
  /// Callable from any thread.
  void wake() const;

  [[nodiscard]] bool all_have_answered(const CallId& call) const;
  struct Attendance {
    std::string text;                  // empty if no rank was asked
    bool another_waits_first = false;  // a lower rank than this one waits in the call, too
  };
  /// Returns the results of asking about a call, and forgets them.
  Attendance conclude(const CallId& call);

 private:
  struct Question {
    CallId call;
    int rank = 0;
  };
  struct Place {
    char host[256];
    std::uint64_t job;
    Address address;  // port 0: it has no socket; family 0: that of the host
  };
  struct Inquiry {
    std::set<int> unanswered;
    std::set<int> missing;
    /// The least seconds since a missing rank has started its last call; nothing if none has started any.
    std::optional<double> idle;
    bool another_waits_first = false;
  };

  void wait(double seconds) const;
  /// Returns the next question. Handles answers on the way.
  std::optional<Question> receive();
  void answer(const Question& question, const Standing& standing) const;
  void send(int rank, std::uint32_t kind, const CallId& call, const Standing& standing) const;
  [[nodiscard]] std::optional<Address> address_of(int rank) const;

  KeptFile socket_;
  KeptFile waits_;  // both ends of a pipe
  KeptFile awakes_;
  /// A random number that identifies this job.
  std::uint64_t job_ = 0;
  std::vector<Place> places_;
  mutable std::map<std::string, std::optional<Address>> resolved_;
  std::map<CallId, Inquiry> inquiries_;
};

}  // namespace stretto
