// SPDX-License-Identifier: Apache-2.0
// A census: the members of a group agree on who of them goes on, after some have ended. Whoever gets a result
// gets the same one, whichever members end while it is found, and at whatever moment.
//
// The coordinator is the lowest member that has not ended, as far as a member knows.
//
//   report     of a member to its coordinator: it takes part; with its own value, or the latest proposal that
//              it has consented to
//   answer     of the coordinator to a report: it is there, and waits for the others
//   proposal   of the coordinator to all, once all have reported: of the proposals in the reports the one
//              with the highest ballot, else all values together. The ballot is the coordinator's rank
//   consent    of a member to its coordinator. It keeps the proposal
//   decision   of the coordinator to all, once all have consented; and of anybody who knows the result to
//              a later coordinator, and to whoever reports or proposes
//
// "All" are the members that have not ended, as far as the sender knows. Each word carries the members of
// which the sender knows that they have ended, and its receiver believes that. Words of ended members do not
// count, except decisions. So a member that has reported to a later coordinator never consents to an earlier
// one. If a coordinator has decided, all members that have not ended have consented; so each later
// coordinator finds the proposal in a report, and proposes it again.
//
// Members may take one for ended that is only late: a coordinator those who do not come, and others a
// coordinator that does not answer. It is excluded then, if the others hear of each other in time. If two
// parts of a group cannot reach each other, and each takes the other for ended, each goes on by itself;
// whoever must not do that asks how many members are left.
//
// This is only the protocol. Endpoint carries the words (tests/sockets/census_test.cpp tries all orders of
// events in small groups).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stretto {

struct CensusId {
  std::uint64_t group = 0;
  std::uint64_t number = 0;  // among those of the group
  friend auto operator<=>(const CensusId&, const CensusId&) = default;
};

/// What members give, and what they agree on.
struct CensusValue {
  std::set<int> without;  // members that do not go on: those of any member together
  bool is_well = true;    // whether all say so

  /// Adds the value of another member.
  void add(const CensusValue& other);
  friend auto operator<=>(const CensusValue&, const CensusValue&) = default;
};

class Census {
 public:
  static constexpr int no_ballot = -1;

  struct Word {
    enum class Kind : std::uint8_t { report = 1, answer, proposal, consent, decision };
    Kind kind{};
    int ballot = no_ballot;  // of a value that was proposed
    std::set<int> ended;
    CensusValue value;

    [[nodiscard]] std::string text() const;
    static constexpr std::size_t longest_text(int ranks) {
      return sizeof(std::int32_t) * (5 + 2 * static_cast<std::size_t>(ranks));
    }
    /// Returns nothing if the text is not that of a word about ranks below `ranks`.
    static std::optional<Word> read(std::string_view text, int ranks);
    friend auto operator<=>(const Word&, const Word&) = default;
  };
  using Words = std::vector<std::pair<int, Word>>;  // to whom

  /// Takes part. Words that have come before are taken now. `members` includes this rank, `self`.
  void begin(int self, std::set<int> members, CensusValue own);
  void take(int from, const Word& word);
  /// Notes that a rank has ended. It may be no member.
  void note_ended(int rank);
  /// Takes the members for ended that this one has waited for until now.
  void give_up_waiting();

  /// The words to be sent now. To be asked for after each event.
  [[nodiscard]] Words take_words() { return std::exchange(words_, {}); }
  [[nodiscard]] bool has_begun() const { return !members_.empty(); }
  /// The members that do not go on are in `without`: those that have ended, too.
  [[nodiscard]] const std::optional<CensusValue>& result() const { return result_; }
  /// What this member waits for.
  struct Awaited {
    int coordinator = -1;       // it may be this member
    bool has_answered = false;  // so it is the coordinator who gives up others
    bool has_proposed = false;
    friend bool operator==(const Awaited&, const Awaited&) = default;
  };
  [[nodiscard]] Awaited awaited() const;
  /// The members of which it waits for a word.
  [[nodiscard]] std::set<int> missing() const;
  /// Whether the others have taken this member for ended.
  [[nodiscard]] bool is_excluded() const { return ended_.contains(self_); }

  friend auto operator<=>(const Census&, const Census&) = default;

 private:
  [[nodiscard]] int coordinator() const;
  void send(int to, Word::Kind kind, int ballot, const CensusValue& value);
  void send_all(Word::Kind kind);
  void advance();

  int self_ = -1;
  std::set<int> members_;  // empty before the begin
  std::set<int> ended_;
  std::vector<std::pair<int, Word>> early_;  // words that have come before the begin
  int ballot_ = no_ballot;                   // of `value_`, once it was proposed
  CensusValue value_;
  int reported_to_ = -1;
  int answered_ = -1;  // the coordinator that has answered last
  std::map<int, Word> reports_;
  bool has_proposed_ = false;
  std::set<int> consents_;
  std::optional<CensusValue> result_;
  Words words_;
};

}  // namespace stretto
