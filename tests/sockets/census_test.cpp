// SPDX-License-Identifier: Apache-2.0
// Tries all orders of events in small groups.
#include "sockets/census.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace stretto {
namespace {

using Kind = Census::Word::Kind;

/// A sanitizer takes a hundred times as long, and finds nothing in an order that others do not show.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int most_members = 2;
#else
constexpr int most_members = 4;
#endif

/// A group, with the words on their way. They arrive in order, and those of a member that has ended arrive up
/// to some word. The others hear of its end at any time.
struct Group {
  struct Member {
    Census census;
    bool has_ended = false;
    std::set<int> heard;  // of the ends of these
    friend auto operator<=>(const Member&, const Member&) = default;
  };
  using Way = std::pair<int, int>;

  std::vector<Member> members;
  std::map<Way, std::deque<Census::Word>> on_the_way;
  std::optional<CensusValue> agreed;  // by anybody, ended or not
  int may_end = 0;
  int suspect = -1;  // which others may take for ended although it is not

  explicit Group(int size, int ends) : members(static_cast<std::size_t>(size)), may_end(ends) {}
  friend auto operator<=>(const Group&, const Group&) = default;

  [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
  Member& at(int member) { return members[static_cast<std::size_t>(member)]; }
  [[nodiscard]] const Member& at(int member) const { return members[static_cast<std::size_t>(member)]; }

  void begin(int member) {
    std::set<int> all;
    for (int one = 0; one < size(); ++one) all.insert(one);
    // Values differ, so that results could.
    at(member).census.begin(member, all, {.without = {10 + member}, .is_well = member != 1});
    after(member);
  }
  /// Sends what a member has to say after an event.
  void after(int member) {
    for (auto& [to, word] : at(member).census.take_words()) {
      if (!at(to).has_ended) on_the_way[{member, to}].push_back(std::move(word));
    }
    const auto& result = at(member).census.result();
    if (!result || member == suspect) return;
    if (!agreed) agreed = result;
    ASSERT_EQ(*result, *agreed);
  }
  void deliver(Way way) {
    const Census::Word word = on_the_way[way].front();
    on_the_way[way].pop_front();
    if (on_the_way[way].empty()) on_the_way.erase(way);
    // What is sent is read as it was.
    const auto read = Census::Word::read(word.text(), 20);
    ASSERT_TRUE(read.has_value());
    ASSERT_EQ(*read, word);
    at(way.second).census.take(way.first, *read);
    after(way.second);
  }
  void end(int member) {
    at(member).has_ended = true;
    --may_end;
    std::erase_if(on_the_way, [&](const auto& one) { return one.first.second == member; });
  }
  void hear(int member, int of) {
    at(member).heard.insert(of);
    at(member).census.note_ended(of);
    after(member);
  }

  /// The groups after each event that may happen next.
  [[nodiscard]] std::vector<Group> next() const {
    std::vector<Group> all;
    const auto with = [&](auto&& event) {
      Group& group = all.emplace_back(*this);
      event(group);
    };
    for (const auto& [way, words] : on_the_way) {
      with([&](Group& group) { group.deliver(way); });
      if (at(way.first).has_ended) with([&](Group& group) { group.on_the_way.erase(way); });
    }
    for (int one = 0; one < size(); ++one) {
      if (at(one).has_ended) continue;
      if (!at(one).census.has_begun()) with([&](Group& group) { group.begin(one); });
      if (may_end > 0) with([&](Group& group) { group.end(one); });
      for (int other = 0; other < size(); ++other) {
        const bool may_hear = at(other).has_ended || other == suspect;
        if (may_hear && other != one && !at(one).heard.contains(other))
          with([&](Group& group) { group.hear(one, other); });
      }
    }
    return all;
  }
};

/// Tries all orders. Returns the number of different states.
std::size_t try_all(const Group& first) {
  std::set<Group> seen{first};
  std::vector<Group> open{first};
  while (!open.empty() && !testing::Test::HasFatalFailure()) {
    const Group group = std::move(open.back());
    open.pop_back();
    const std::vector<Group> next = group.next();
    for (const Group& one : next) {
      if (seen.insert(one).second) open.push_back(one);
    }
    if (!next.empty()) continue;
    for (int one = 0; one < group.size(); ++one) {
      const Group::Member& member = group.at(one);
      EXPECT_TRUE(member.has_ended || one == group.suspect || member.census.result()) << "it waits for ever";
    }
  }
  return seen.size();
}

TEST(Census, HasOneResultInAllOrdersOfEvents) {
  std::size_t states = 0;
  for (int size = 1; size <= most_members; ++size) {
    for (int ends = 0; ends <= (size == 4 ? 1 : size); ++ends) states += try_all(Group(size, ends));
  }
  EXPECT_GT(states, most_members == 4 ? 50'000 : 100);
}

TEST(Census, HasOneResultWhereAMemberIsTakenForEnded) {
  std::size_t states = 0;
  for (int suspect = 0; suspect < 3; ++suspect) {
    for (int ends = 0; ends < (most_members == 4 ? 2 : 1); ++ends) {
      Group group(3, ends);
      group.suspect = suspect;
      states += try_all(group);
    }
  }
  EXPECT_GT(states, most_members == 4 ? 50'000 : 1000);
}

/// Those who wait no longer for members that do not come agree without them.
TEST(Census, GoesOnWithoutThoseWhoDoNotCome) {
  for (int missing = 0; missing < 4; ++missing) {
    Group group(4, 0);
    for (int one = 0; one < 4; ++one) {
      if (one != missing) group.begin(one);
    }
    const auto deliver_all = [&] {
      for (bool any = true; any;) {
        any = false;
        for (const auto& [way, words] : std::map(group.on_the_way)) {
          if (way.second == missing) continue;
          group.deliver(way);
          any = true;
        }
      }
    };
    deliver_all();
    for (int one = 0; one < 4; ++one) {
      if (one == missing) continue;
      EXPECT_FALSE(group.at(one).census.result());
      // The members wait for a coordinator that does not answer, or the coordinator for the one that is late.
      const bool waits_for_it = group.at(one).census.missing() == std::set<int>{missing};
      EXPECT_EQ(waits_for_it, missing == 0 || one == 0);
      if (!waits_for_it) continue;
      group.at(one).census.give_up_waiting();
      group.after(one);
    }
    deliver_all();
    for (int one = 0; one < 4; ++one) {
      if (one == missing) continue;
      ASSERT_TRUE(group.at(one).census.result());
      EXPECT_TRUE(group.at(one).census.result()->without.contains(missing));
    }
    // It hears that, whenever it comes.
    group.begin(missing);
    for (const auto& [way, words] : std::map(group.on_the_way)) {
      while (way.second == missing && group.on_the_way.contains(way)) group.deliver(way);
    }
    ASSERT_TRUE(group.at(missing).census.result());
    EXPECT_TRUE(group.at(missing).census.result()->without.contains(missing));
  }
}

TEST(Census, ReadsNoWordsThatNobodyWrites) {
  const Census::Word word{
      .kind = Kind::proposal, .ballot = 3, .ended = {1, 7}, .value = {.without = {2}, .is_well = false}};
  const std::string text = word.text();
  EXPECT_EQ(Census::Word::read(text, 8), word);
  EXPECT_LE(text.size(), Census::Word::longest_text(8));
  EXPECT_FALSE(Census::Word::read(text, 7)) << "there is no rank 7 of 7";
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(Census::Word::read(text.substr(0, length), 8)) << length;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] = static_cast<char>(0x80);
    if (const auto read = Census::Word::read(other, 8)) {
      for (const int rank : read->ended) EXPECT_TRUE(rank >= 0 && rank < 8);
    }
  }
}

}  // namespace
}  // namespace stretto
