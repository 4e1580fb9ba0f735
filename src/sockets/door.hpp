// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <utility>

#include "sockets/endpoint.hpp"

namespace stretto {

/// The listeners of an endpoint, one for each rail, and their visitors: connections that have not shown yet
/// that they are of the job.
class Endpoint::Door final {
 public:
  static constexpr std::size_t most_visitors = 512;
  static constexpr std::chrono::seconds longest_visit{10};

  /// Visitors may use at most a quarter of the `files`, so that most are left to the program and the ranks.
  Door(Endpoint& endpoint, std::size_t files);

  void listen(Socket listener, const Address& at);
  /// To be called when no visitor is being looked at.
  void tidy();
  [[nodiscard]] bool has_decided() const { return has_decided_; }
  /// Closes the sockets and nothing else.
  void abandon();

 private:
  struct Entrance final : Polled {
    Entrance(Door& of, Socket socket, const Address& address)
        : door(of), listener(std::move(socket)), at(address) {}
    bool look(bool readable, bool writable) override;
    Door& door;
    Socket listener;
    Address at;
    bool is_shut = true;
  };
  struct Guest final : Polled {
    Guest(Entrance& of, Socket socket, Clock::time_point until)
        : entrance(of), visitor(std::move(socket), until) {}
    ~Guest() override { entrance.door.endpoint_.poller_.remove(visitor.socket()); }
    bool look(bool readable, bool writable) override;
    Entrance& entrance;
    Visitor visitor;
    Visitor::Verdict verdict = Visitor::Verdict::undecided;
  };

  /// Refuses the first visitor. It may be about to be looked at, so only tidy() removes it.
  void refuse_first();
  void refuse(Guest& guest);

  Endpoint& endpoint_;
  std::size_t most_visitors_;
  std::list<Entrance> entrances_;
  std::list<Guest> visitors_;
  bool has_decided_ = false;
};

}  // namespace stretto
