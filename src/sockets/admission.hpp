// SPDX-License-Identifier: Apache-2.0
// How a connection begins. Each side proves to the other that it knows the job's secret, without revealing
// it. The proofs name both ranks, the connection, and the address at which the maker believes the listener to
// be. So they are good for nothing else, and nobody can pass them on who only stands at a false address.
// Another job has another secret.
//
//   maker → listener   Hello      who it is, whom it means, and a number that it has never used
//   listener → maker   Challenge  a number of its own, and the proof over both
//   maker → listener   Answer     the maker's proof over both
//   listener → maker   Welcome    the maker may send frames now (sockets/frame.hpp)
//
// A connection that has broken is made again in the same way. Each side says how many bytes it has read, and
// the other one goes on behind these.
//
// Until the right answer has come, the listener keeps only one Visitor of fixed size. It may send a visitor
// away at any time before that; a rank of the job tries again.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sockets/address.hpp"
#include "sockets/limit_clock.hpp"
#include "sockets/rails.hpp"
#include "sockets/siphash.hpp"

namespace stretto {

constexpr std::array<char, 8> protocol_mark{'S', 't', 'r', 'e', 't', 't', 'o', '3'};

struct Hello {
  std::array<char, 8> mark = protocol_mark;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t stream = 0;  // which of its connections to the listener this is
  std::uint32_t to = 0;      // the rank of the listener
  SipTag number{};
  Address listens_at;
  std::uint64_t attempt = 0;   // to make this connection: a number above that of each earlier attempt
  std::uint64_t received = 0;  // bytes of frames that the maker has read from this connection
};
static_assert(sizeof(Hello) == 80);

struct Challenge {
  SipTag number{};
  SipTag proof{};
};

struct Answer {
  SipTag proof{};
};

struct Welcome {
  std::uint64_t received = 0;  // bytes of frames that the listener has read from this connection
  std::array<Address, most_rails - 1> more_rails{};  // where it listens, too
};

enum class End : std::uint8_t { maker, listener };
/// `at`: where the listener listens. (A scope means nothing to other nodes, so it does not count.)
SipTag proof_of(End end, const SipKey& secret, const Hello& hello, const SipTag& number_of_listener,
                const Address& at);

/// A rank that listens.
struct Listener {
  const SipKey& secret;
  int rank;
  int ranks;
  const Address& at;
};

/// A connection to this rank's listener that has not yet proved that it belongs to the job.
class Visitor {
 public:
  using Clock = LimitClock;

  Visitor(Socket socket, Clock::time_point until) : socket_(std::move(socket)), until_(until) {}

  enum class Verdict : std::uint8_t { undecided, admitted, refused };
  /// Reads what has arrived, and answers.
  Verdict look(const Listener& listener);

  /// The hello of an admitted visitor.
  [[nodiscard]] const Hello& hello() const { return hello_; }
  [[nodiscard]] Socket& socket() { return socket_; }
  [[nodiscard]] bool is_overdue(Clock::time_point now) const { return now > until_; }

 private:
  Verdict take_hello(const Listener& listener);

  Socket socket_;
  Clock::time_point until_;
  std::array<std::byte, sizeof(Hello)> bytes_{};
  std::size_t got_ = 0;
  bool is_challenged_ = false;
  Hello hello_;
  Challenge challenge_;
};

}  // namespace stretto
