// SPDX-License-Identifier: Apache-2.0
#include "sockets/send_queue.hpp"

#include <cstring>
#include <deque>
#include <map>

#include "frames.hpp"

namespace stretto {
namespace {

struct Sending {
  Bytes memory;
  Message message;
};

/// The contents of a stream, put together again.
struct Read {
  std::vector<Frame> frames;  // all frames except parts
  std::vector<Bytes> behind;  // the bytes behind each of these frames
  std::map<std::uint64_t, Bytes> parts;
  std::size_t rest = 0;  // bytes that are not a whole frame with its bytes
};

Read read(const Bytes& stream) {
  Read read;
  std::size_t at = 0;
  for (; at + sizeof(Frame) <= stream.size();) {
    Frame frame;
    std::memcpy(&frame, stream.data() + at, sizeof(frame));
    const bool has_bytes =
        frame.kind == FrameKind::message || frame.kind == FrameKind::part || frame.kind == FrameKind::news;
    const std::size_t bytes = has_bytes ? frame.bytes : 0;
    if (at + sizeof(frame) + bytes > stream.size()) break;
    const std::span<const std::byte> behind = std::span(stream).subspan(at + sizeof(frame), bytes);
    at += sizeof(frame) + bytes;
    if (frame.kind == FrameKind::part) {
      EXPECT_LE(bytes, longest_part);
      Bytes& whole = read.parts[frame.number];
      EXPECT_EQ(frame.context, whole.size());
      whole.insert(whole.end(), behind.begin(), behind.end());
    } else {
      read.frames.push_back(frame);
      read.behind.emplace_back(behind.begin(), behind.end());
    }
  }
  read.rest = stream.size() - at;
  return read;
}

/// A queue with random contents, and the expected output.
class Contents {
 public:
  explicit Contents(Random& random) : random_(random) {}

  void add() {
    const std::size_t number = frames.size() + parts.size();
    Frame frame{.kind = FrameKind::message, .tag = static_cast<int>(number), .context = 9, .number = number};
    switch (random_.below(4)) {
      case 0:
        frame.kind = FrameKind::credit;
        queue.add(frame);
        note(frame, {});
        break;
      case 1: {
        Sending& sending = make(random_.below(random_.of<std::size_t>({1, 100, 200'000})));
        frame.bytes = sending.memory.size();
        queue.add(frame, &sending.message);
        note(frame, sending.memory);
        break;
      }
      case 2: {
        const Bytes bytes = filled(1 + random_.below(200), number);
        frame.kind = FrameKind::news;
        frame.bytes = bytes.size();
        queue.add_copied(frame, bytes.data());
        note(frame, bytes);
        break;
      }
      default: {
        Sending& sending =
            make(random_.of<std::size_t>({0, 1, longest_part - 1, longest_part, longest_part + 1,
                                          2 * longest_part, 2 * longest_part + 77}));
        parts[number] = &sending;
        long_sends.add(number, sending.message, longest_part);
      }
    }
  }
  [[nodiscard]] bool have_all_ended(Message::State how) const {
    return std::ranges::all_of(sendings, [&](const Sending& one) { return one.message.state == how; });
  }
  void expect_all(const Bytes& stream) const {
    const Read found = read(stream);
    EXPECT_EQ(found.rest, 0);
    ASSERT_EQ(found.frames.size(), frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
      EXPECT_TRUE(is_same(found.frames[i], frames[i])) << i;
      EXPECT_TRUE(found.behind[i] == behind[i]) << i;
    }
    ASSERT_EQ(found.parts.size(), parts.size());
    for (const auto& [number, sending] : parts) EXPECT_TRUE(found.parts.at(number) == sending->memory);
  }

  LongSends long_sends{[this](const Message& message) { queue.leave_memory(message); }};
  SendQueue queue{&long_sends};
  std::deque<Sending> sendings;
  std::vector<Frame> frames;
  std::vector<Bytes> behind;
  std::map<std::uint64_t, const Sending*> parts;

 private:
  Sending& make(std::size_t bytes) {
    Sending& sending = sendings.emplace_back();
    sending.memory = filled(bytes, sendings.size());
    sending.message.sends = true;
    sending.message.data = sending.memory.data();
    sending.message.bytes = bytes;
    return sending;
  }
  void note(const Frame& frame, const Bytes& bytes) {
    frames.push_back(frame);
    behind.push_back(bytes);
  }

  Random& random_;
};

void append(Bytes& stream, const Bytes& bytes) {
  stream.insert(stream.end(), bytes.begin(), bytes.end());
}

/// The connection may take any number of bytes at a time. Short frames keep their order, with parts of long
/// messages between them.
TEST(SendQueue, WritesAllInOrder) {
  for (unsigned seed = 0; seed < rounds(60); ++seed) {
    Random random(seed);
    Contents contents(random);
    const Pair pair(random.of<int>({0, 1, 5000, 100'000}));
    const std::size_t piece = random.of<std::size_t>({100, 5000, 200'000});
    const bool sips = piece == 100;
    Bytes stream;
    for (std::size_t count = 1 + random.below(sips ? 3 : 50); count > 0; --count) {
      contents.add();
      if (random.once_in(2)) contents.queue.write(pair.one.file());
      if (random.once_in(2)) append(stream, get(pair.other, 1 + random.below(piece)));
    }
    while (contents.queue.write(pair.one.file()) != SendQueue::State::empty)
      append(stream, get(pair.other, 1 + random.below(sips ? 5000 : piece)));
    EXPECT_TRUE(contents.queue.is_empty());
    EXPECT_TRUE(contents.have_all_ended(Message::State::done));
    for (Bytes more; !(more = get(pair.other, 200'000)).empty();) append(stream, more);
    contents.expect_all(stream);
  }
}

/// The rest of a half-written frame is sent from a copy, and whole frames follow it.
TEST(SendQueue, EndsAllMessagesAndStaysReadable) {
  for (unsigned seed = 0; seed < rounds(100); ++seed) {
    Random random(seed);
    Contents contents(random);
    const Pair pair(random.of<int>({1, 5000, 100'000}));
    Bytes stream;
    for (std::size_t count = 1 + random.below(20); count > 0; --count) contents.add();
    for (std::size_t step = random.below(30); step > 0; --step) {
      contents.queue.write(pair.one.file());
      append(stream, get(pair.other, 1 + random.below(20'000)));
    }
    if (random.once_in(2)) contents.queue.write(pair.one.file());
    contents.queue.fail([](const Message&) { return true; }, "enough");
    contents.long_sends.fail([](const Message&) { return true; }, "enough");
    std::size_t done = 0;
    for (Sending& sending : contents.sendings) {
      EXPECT_TRUE(sending.message.has_ended());
      done += sending.message.state == Message::State::done ? 1 : 0;
      std::ranges::fill(sending.memory, untouched);
      sending.memory = {};
    }
    const Bytes last = filled(300, seed);
    contents.queue.add_copied({.kind = FrameKind::news, .bytes = last.size()}, last.data());
    while (contents.queue.write(pair.one.file()) != SendQueue::State::empty)
      append(stream, get(pair.other, 100'000));
    for (Bytes more; !(more = get(pair.other, 200'000)).empty();) append(stream, more);
    const Read found = read(stream);
    EXPECT_EQ(found.rest, 0);
    ASSERT_FALSE(found.frames.empty());
    EXPECT_EQ(found.frames.back().kind, FrameKind::news);
    EXPECT_TRUE(found.behind.back() == last);
    ASSERT_LE(found.frames.size(), contents.frames.size() + 1);
    // Frames without a message stay, in their order.
    std::size_t next = 0;
    for (std::size_t i = 0; i + 1 < found.frames.size(); ++i) {
      while (next < contents.frames.size() && !is_same(found.frames[i], contents.frames[next])) ++next;
      ASSERT_LT(next, contents.frames.size()) << i;
      EXPECT_TRUE(found.behind[i] == contents.behind[next++]) << i;
    }
    EXPECT_LE(done, found.frames.size() + found.parts.size());
  }
}

TEST(SendQueue, TellsABrokenConnection) {
  Pair pair;
  pair.other.close();
  SendQueue queue;
  queue.add({.kind = FrameKind::farewell});
  EXPECT_EQ(queue.write(pair.one.file()), SendQueue::State::broken);
  EXPECT_EQ(queue.error(), EPIPE);
}

}  // namespace
}  // namespace stretto
