// SPDX-License-Identifier: Apache-2.0
#include "sockets/frame_reader.hpp"

#include <cstring>
#include <functional>
#include <optional>

#include "frames.hpp"

namespace stretto {
namespace {

struct Sent {
  Frame frame;
  Bytes behind;
};

Bytes stream_of(const std::vector<Sent>& all) {
  Bytes stream;
  for (const auto& [frame, behind] : all) {
    const auto bytes = std::as_bytes(std::span(&frame, 1));
    stream.insert(stream.end(), bytes.begin(), bytes.end());
    stream.insert(stream.end(), behind.begin(), behind.end());
  }
  return stream;
}

/// Frames with and without bytes behind them, most of them short.
std::vector<Sent> random_frames(Random& random, std::size_t count, std::size_t longest) {
  std::vector<Sent> all(count);
  for (Sent& one : all) {
    const bool has_bytes = !random.once_in(4);
    const std::size_t bytes =
        std::min(random.below(random.of<std::size_t>({1, 2, 40, 300, 5000, 70'000})), longest);
    one.frame = {.kind = has_bytes
                             ? random.of<FrameKind>({FrameKind::message, FrameKind::part, FrameKind::news,
                                                     FrameKind::farewell})
                             : random.of<FrameKind>({FrameKind::offer, FrameKind::wanted, FrameKind::credit}),
                 .tag = static_cast<int>(random.below(100)) - 50,
                 .context = random.below(1'000'000),
                 .bytes = bytes,
                 .number = random.below(1'000'000)};
    if (has_bytes) one.behind = filled(bytes, random.below(256));
  }
  return all;
}

/// Notes what comes. The memory of each frame has a room of its own, which may be too small.
class Notes final : public FrameTaker {
 public:
  struct Note {
    Frame frame;
    std::size_t room = 0;
    Bytes memory;
    bool has_ended = false;
  };
  explicit Notes(std::function<std::size_t(const Frame&)> room) : room_(std::move(room)) {}

  std::optional<Landing> take(const Frame& frame) override {
    if (frame.number == refused) return std::nullopt;
    EXPECT_TRUE(all.empty() || all.back().has_ended || bytes_behind(all.back().frame) == 0);
    Note& note = all.emplace_back();
    note.frame = frame;
    note.room = room_(frame);
    note.memory = Bytes(note.room + guard, untouched);
    return Landing{note.memory.data(), note.room};
  }
  void take_end() override {
    ASSERT_FALSE(all.empty());
    EXPECT_FALSE(std::exchange(all.back().has_ended, true));
    EXPECT_GT(bytes_behind(all.back().frame), 0);
  }

  static constexpr std::size_t guard = 8;
  std::vector<Note> all;
  std::optional<std::uint64_t> refused;

 private:
  std::function<std::size_t(const Frame&)> room_;
};

void expect_all(const std::vector<Sent>& sent, const Notes& notes) {
  ASSERT_EQ(notes.all.size(), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const Notes::Note& note = notes.all[i];
    ASSERT_TRUE(is_same(note.frame, sent[i].frame)) << i;
    EXPECT_EQ(note.has_ended, !sent[i].behind.empty()) << i;
    const std::size_t landed = std::min(note.room, sent[i].behind.size());
    EXPECT_TRUE(is_equal(std::span(sent[i].behind).first(landed), std::span(note.memory).first(landed))) << i;
    EXPECT_TRUE(is_untouched(std::span(note.memory).subspan(landed))) << i;
  }
}

/// Pieces, buffer, rooms and the most bytes that are read at once may have any size.
TEST(FrameReader, FindsFramesInAnyPieces) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const std::size_t most = random.of<std::size_t>({1, 50, 1000, 1U << 20U});
    const std::size_t piece = random.of<std::size_t>({1, 10, 40, 1000, 100'000});
    const bool sips = std::min(piece, most) < 1000;
    const std::vector<Sent> sent = random_frames(random, 1 + random.below(60), sips ? 500 : 70'000);
    const Bytes stream = stream_of(sent);
    const auto room_for = random.of<std::function<std::size_t(const Frame&)>>(
        {[](const Frame& frame) { return frame.bytes; }, [](const Frame& frame) { return frame.bytes + 100; },
         [&](const Frame& frame) { return random.below(frame.bytes + 1); }, [](const Frame&) { return 0; }});
    Notes notes(room_for);
    FrameReader reader;
    std::vector<std::byte> buffer(random.of<std::size_t>({1024, 1025, 5000, 65'536}));
    const Pair pair;
    for (std::size_t at = 0; at < stream.size();) {
      at +=
          put(pair.one, std::span(stream).subspan(at, std::min(1 + random.below(piece), stream.size() - at)));
      if (piece > 1 && random.once_in(3)) continue;
      ASSERT_EQ(reader.read(pair.other, notes, most, buffer), FrameReader::Found::something);
    }
    FrameReader::Found found{};
    while ((found = reader.read(pair.other, notes, most, buffer)) == FrameReader::Found::something) {
    }
    EXPECT_EQ(found, FrameReader::Found::nothing);
    expect_all(sent, notes);
  }
}

TEST(FrameReader, ReadsNotMuchMoreThanTheMost) {
  const Pair pair;
  const Bytes stream = stream_of({{{.kind = FrameKind::message, .bytes = 100'000}, filled(100'000, 1)}});
  ASSERT_EQ(put(pair.one, stream), stream.size());
  Notes notes([](const Frame& frame) { return frame.bytes; });
  FrameReader reader;
  std::vector<std::byte> buffer(1024);
  EXPECT_EQ(reader.read(pair.other, notes, 10, buffer), FrameReader::Found::something);
  ASSERT_EQ(notes.all.size(), 1);
  EXPECT_FALSE(notes.all[0].has_ended);
  EXPECT_EQ(get(pair.other, stream.size()).size(), stream.size() - 1024);
}

TEST(FrameReader, TellsTheEnd) {
  Pair pair;
  const Bytes stream = stream_of({{{.kind = FrameKind::message, .bytes = 100}, filled(100, 1)}});
  put(pair.one, std::span(stream).first(80));
  pair.one.close();
  Notes notes([](const Frame& frame) { return frame.bytes; });
  FrameReader reader;
  std::vector<std::byte> buffer(1024);
  EXPECT_EQ(reader.read(pair.other, notes, 1000, buffer), FrameReader::Found::something);
  EXPECT_EQ(reader.read(pair.other, notes, 1000, buffer), FrameReader::Found::end);
  EXPECT_EQ(reader.error(), 0);
  ASSERT_EQ(notes.all.size(), 1);
  EXPECT_FALSE(notes.all[0].has_ended);
}

/// Frames before the fault are taken, and frames after it are not.
TEST(FrameReader, StopsAtAFault) {
  const Pair pair;
  put(pair.one, stream_of({{{.kind = FrameKind::message, .bytes = 3}, filled(3, 1)},
                           {{.kind = FrameKind::offer, .number = 13}, {}},
                           {{.kind = FrameKind::offer, .number = 14}, {}}}));
  Notes notes([](const Frame& frame) { return frame.bytes; });
  notes.refused = 13;
  FrameReader reader;
  std::vector<std::byte> buffer(1024);
  EXPECT_EQ(reader.read(pair.other, notes, 1000, buffer), FrameReader::Found::fault);
  ASSERT_EQ(notes.all.size(), 1);
  EXPECT_TRUE(notes.all[0].has_ended);
}

TEST(FrameReader, WritesNothingIntoALandingThatWasForgotten) {
  for (const std::size_t before : {std::size_t{32}, std::size_t{33}, std::size_t{40}, std::size_t{131}}) {
    const Pair pair;
    const Bytes stream = stream_of({{{.kind = FrameKind::message, .bytes = 100}, filled(100, 1)},
                                    {{.kind = FrameKind::message, .bytes = 50}, filled(50, 2)}});
    put(pair.one, std::span(stream).first(before));
    Notes notes([](const Frame& frame) { return frame.bytes; });
    FrameReader reader;
    std::vector<std::byte> buffer(1024);
    EXPECT_EQ(reader.read(pair.other, notes, 1000, buffer), FrameReader::Found::something);
    ASSERT_EQ(notes.all.size(), 1);
    reader.forget_landing();
    std::ranges::fill(notes.all[0].memory, untouched);
    put(pair.one, std::span(stream).subspan(before));
    EXPECT_EQ(reader.read(pair.other, notes, 1000, buffer), FrameReader::Found::something);
    ASSERT_EQ(notes.all.size(), 2);
    EXPECT_TRUE(notes.all[0].has_ended);
    EXPECT_TRUE(is_untouched(notes.all[0].memory));
    EXPECT_TRUE(notes.all[1].has_ended);
    EXPECT_TRUE(
        std::equal(notes.all[1].memory.begin(), notes.all[1].memory.begin() + 50, filled(50, 2).begin()));
  }
}

}  // namespace
}  // namespace stretto
