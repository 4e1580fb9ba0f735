// SPDX-License-Identifier: Apache-2.0
// Any bytes, in any pieces, that come from a rank of the job over either kind of connection. Nothing is
// written beside the messages, and in the end all messages have ended.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "fuzz.hpp"
#include "sockets/endpoint.hpp"
#include "sockets/frame.hpp"

namespace stretto {
namespace {

using fuzz::demand;

constexpr SipKey secret{std::byte{1}};
constexpr int own = 0;
constexpr int peer = 1;

/// A message with its memory.
class Transfer {
 public:
  Transfer(bool sends, int of, std::int32_t tag, std::size_t bytes) : memory_(bytes + guard, untouched) {
    message_->sends = sends;
    message_->peer = of;
    message_->context = 1;
    message_->tag = tag;
    message_->data = memory_.data();
    message_->bytes = bytes;
  }
  Message& message() { return *message_; }
  void check() const {
    demand(
        std::all_of(memory_.end() - guard, memory_.end(), [](std::byte byte) { return byte == untouched; }),
        "nothing is written behind a message");
    if (message_->sends || message_->state != Message::State::done) return;
    demand(message_->source == peer, "a message has a source");
    const std::size_t landed = std::min(message_->arrived, message_->bytes);
    demand(std::all_of(memory_.begin() + static_cast<std::ptrdiff_t>(landed), memory_.end(),
                       [](std::byte byte) { return byte == untouched; }),
           "no more is written than has arrived");
  }

 private:
  static constexpr std::byte untouched{0xee};
  static constexpr std::ptrdiff_t guard = 16;
  std::vector<std::byte> memory_;
  std::unique_ptr<Message> message_ = std::make_unique<Message>();
};

Address loopback() {
  Address address{.family = 4};
  inet_pton(AF_INET, "127.0.0.1", address.ip.data());
  return address;
}

/// The other rank's end of a connection, which is made as that rank would make it.
class OtherEnd {
 public:
  explicit OtherEnd(Endpoint& endpoint) : endpoint_(endpoint) {}
  ~OtherEnd() {
    // No port is kept for bytes that may still come.
    constexpr linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(socket_.file(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }
  OtherEnd(const OtherEnd&) = delete;
  OtherEnd& operator=(const OtherEnd&) = delete;

  void come() {
    SystemAddress to(endpoint_.listens_at());
    socket_ = Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    demand(connect(socket_.file(), to.get(), to.length) == 0, "a rank listens");
    Hello hello;
    hello.rank = peer;
    hello.ranks = 2;
    write(&hello, sizeof(hello));
    Challenge challenge;
    read(&challenge, sizeof(challenge));
    const Answer answer{proof_of(End::maker, secret, hello, challenge.number, endpoint_.listens_at())};
    write(&answer, sizeof(answer));
    Welcome welcome;
    read(&welcome, sizeof(welcome));
    demand(welcome.received == 0, "nothing has been read before");
  }
  void wait_for(const Socket& listener, const Address& at) {
    while (!socket_) {
      endpoint_.progress();
      socket_ = Socket(accept4(listener.file(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    Hello hello;
    read(&hello, sizeof(hello));
    Challenge challenge;
    challenge.proof = proof_of(End::listener, secret, hello, challenge.number, at);
    write(&challenge, sizeof(challenge));
    Answer answer;
    read(&answer, sizeof(answer));
    demand(are_equal(answer.proof, proof_of(End::maker, secret, hello, challenge.number, at)),
           "the proof is right");
  }

  /// Sends bytes, and reads all that arrives. Returns false when the rank has ended the connection.
  bool say(std::span<const std::uint8_t> bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_.file(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) bytes = bytes.subspan(static_cast<std::size_t>(sent));
      if (sent < 0 && errno != EAGAIN) return false;
      settle();
    }
    return true;
  }
  /// Makes progress until all bytes have been read. (Bytes that are sent on this node arrive at once.)
  void settle() {
    constexpr int rounds = 3;
    for (int idle = 0; idle < rounds; ++idle) {
      while (endpoint_.progress() || drain()) idle = 0;
    }
  }

 private:
  bool drain() const {
    static std::vector<std::byte> scrap(std::size_t{1} << 20);
    return recv(socket_.file(), scrap.data(), scrap.size(), MSG_DONTWAIT) > 0;
  }
  void write(const void* data, std::size_t bytes) const {
    demand(send(socket_.file(), data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes), "it is sent");
  }
  void read(void* data, std::size_t bytes) {
    ssize_t got = 0;
    while ((got = recv(socket_.file(), data, bytes, MSG_DONTWAIT | MSG_PEEK)) < static_cast<ssize_t>(bytes)) {
      demand(got != 0 && (got > 0 || errno == EAGAIN), "the other one answers");
      endpoint_.progress();
    }
    demand(recv(socket_.file(), data, bytes, 0) == static_cast<ssize_t>(bytes), "the answer is read");
  }

  Endpoint& endpoint_;
  Socket socket_;
};

/// Sends the bytes over a connection. The first byte selects the kind of connection and the messages, the
/// second the length of pieces, and the third the time at which more receives are posted.
void connect_and_say(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 3) return;
  const unsigned what = bytes[0];
  // More connections, which are not answered, would not be useful.
  Endpoint::use_streams(what % 16 >= 8 ? 3 : 1);
  const std::size_t piece = std::size_t{1} + bytes[1];
  const std::size_t posted_later = bytes[2];
  bytes = bytes.subspan(3);
  Address at = loopback();
  Socket listener = listen_at(at);
  Endpoint endpoint(own, 2, secret, std::move(listener), at);
  std::vector<Transfer> messages;
  messages.reserve(16);
  const auto start = [&](bool sends, int of, std::int32_t tag, std::size_t size) {
    endpoint.start(messages.emplace_back(sends, of, tag, size).message());
  };
  OtherEnd other(endpoint);
  Address others = loopback();
  const Socket others_listener = listen_at(others);
  const auto receive_some = [&] {
    start(false, peer, 0, 100);
    start(false, any_rank, 0, 10);
    start(false, peer, 1, 0);
    start(false, any_rank, 1, 3000);
  };
  if (what % 2 == 0) {
    other.come();
    if (what % 4 == 0) receive_some();
  } else {
    endpoint.set_address(peer, others);
    start(true, peer, 0, 0);
    start(true, peer, 0, longest_whole_message + 7);
    start(true, peer, 0, 200);
    start(true, peer, 0, 2 * longest_part);
    if (what % 4 == 1) start(false, peer, 0, 100);
    other.wait_for(others_listener, others);
  }
  bool has_posted = false;
  while (!bytes.empty() && other.say(bytes.first(std::min(piece, bytes.size())))) {
    bytes = bytes.subspan(std::min(piece, bytes.size()));
    other.settle();
    if (std::exchange(has_posted, bytes.size() < posted_later) || bytes.size() >= posted_later) continue;
    receive_some();
  }
  other.settle();
  if (what % 8 >= 4) endpoint.fail("enough");
  for (const Transfer& message : messages) message.check();
  endpoint.leave(0);
  endpoint.close();
  demand(std::ranges::all_of(messages, [](Transfer& one) { return one.message().has_ended(); }),
         "all messages end");
  for (const Transfer& message : messages) message.check();
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::connect_and_say({data, size});
  return 0;
}
