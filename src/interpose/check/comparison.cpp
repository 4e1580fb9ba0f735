// SPDX-License-Identifier: Apache-2.0
#include "interpose/check/comparison.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "interpose/operations/run_operation.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

/// A further property that decides how a call is carried out: a field of its traits, and the texts about a
/// rank where it is true, and about one where it is not.
struct Decisive {
  bool (*is_true)(const CallTraits& traits);
  const char* yes;
  const char* no;
};
constexpr std::array<Decisive, 7> decisive{{
    {[](const CallTraits& traits) { return traits.commutative; }, "has an operation that commutes",
     "has an operation that does not commute"},
    {[](const CallTraits& traits) { return bool{traits.in_place}; }, "is in place", "is not in place"},
    {[](const CallTraits& traits) { return traits.understood; },
     "has a datatype and an operation of known form", "has a datatype or an operation of unknown form"},
    {[](const CallTraits& traits) { return traits.calls_program; }, "reduces by a function of the program",
     "does not reduce by a function of the program"},
    {[](const CallTraits& traits) { return traits.has_unequal_blocks; }, "has blocks of several lengths",
     "has blocks of one length"},
    {[](const CallTraits& traits) { return traits.has_dominant_node; }, "has one node with most of the data",
     "has no node with most of the data"},
    {[](const CallTraits& traits) { return traits.blocks_in_segments; },
     "has a call of the library that may wait", "has no call of the library that may wait"},
}};

/// The data that a rank sends to another one about a call. The traits are sent as they are, because all ranks
/// run the same Stretto.
struct Word {
  static constexpr std::int64_t unknown = -1;
  CallTraits traits;
  Form form = Form::blocking;
  std::int64_t sent = unknown;      // bytes to that rank
  std::int64_t expected = unknown;  // bytes from it
};
static_assert(std::is_trivially_copyable_v<Word>);

std::string text_of_form(Form form) {
  constexpr std::array<const char*, 3> names{"a blocking call", "a non-blocking call", "a persistent call"};
  return names.at(static_cast<std::size_t>(form));
}

/// The difference between two calls, in one text for each. The texts are empty if the calls match.
struct Difference {
  std::string left;
  std::string right;
};
Difference difference(const Word& left_word, const Word& right_word) {
  const CallTraits& left = left_word.traits;
  const CallTraits& right = right_word.traits;
  if (left.collective != right.collective) {
    return {"calls " + std::string(name_of(left.collective)),
            "calls " + std::string(name_of(right.collective))};
  }
  if (left_word.form != right_word.form) {
    return {"makes " + text_of_form(left_word.form), "makes " + text_of_form(right_word.form)};
  }
  if (has_root(left.collective) && left.root != right.root) {
    return {"has root " + std::to_string(left.root), "has root " + std::to_string(right.root)};
  }
  if (left.operation != right.operation) {
    return {"reduces by " + name_of_operation(left.operation),
            "reduces by " + name_of_operation(right.operation)};
  }
  for (const Decisive& one : decisive) {
    const bool is_true = one.is_true(left);
    if (is_true != one.is_true(right)) return {is_true ? one.yes : one.no, is_true ? one.no : one.yes};
  }
  // The bytes of two ranks can only be compared if both know the size of their elements. If not, the library
  // must judge the datatype.
  if (left.element_bytes == 0 || right.element_bytes == 0) return {};
  // If nothing is reduced, ranks may describe the same data by different datatypes.
  if (is_reduction(left.collective) && left.element_bytes != right.element_bytes) {
    return {"has elements of " + std::to_string(left.element_bytes) + " bytes",
            "has elements of " + std::to_string(right.element_bytes) + " bytes"};
  }
  if (left.bytes != right.bytes) {
    return {"has a message of " + std::to_string(left.bytes) + " bytes",
            "has a message of " + std::to_string(right.bytes) + " bytes"};
  }
  return {};
}

/// An alltoall of words.
class Comparison final : public CallBuffers {
 public:
  Comparison(const CallTraits& traits, Form form, const PrivateLengths& lengths,
             std::shared_ptr<Communicator> state, std::uint64_t sequence)
      : state_(std::move(state)),
        sequence_(sequence),
        own_(static_cast<std::size_t>(state_->topology().ranks()), Word{.traits = traits, .form = form}),
        all_(own_.size()) {
    for (std::size_t rank = 0; rank < lengths.sent.size(); ++rank) {
      own_[rank].sent = static_cast<std::int64_t>(lengths.sent[rank]);
      own_[rank].expected = static_cast<std::int64_t>(lengths.expected[rank]);
    }
    for (std::size_t i = 0; i <= all_.size(); ++i) borders_.push_back(i * sizeof(Word));
    call = Call::whole(own_.data(), all_.data(), all_.size() * sizeof(Word), byte_element());
    call.borders = borders_;
  }

  int finish() override {
    for (std::size_t rank = 1; rank < all_.size(); ++rank) {
      const Difference found = difference(all_[0], all_[rank]);
      if (!found.left.empty()) report_mismatch(found, rank);
    }
    compare_lengths();
    return MPI_SUCCESS;
  }

 private:
  /// Ends the job with one line. To be called on all ranks, which have found the same difference.
  void report_mismatch(const Difference& found, std::size_t rank) {
    end_job_if(state_->rank() == 0,
               name_in_world(0) + " " + found.left + ", " + name_in_world(rank) + " " + found.right);
  }

  /// Only two ranks know how long a block is. The lower one of them reports a mismatch. If it has another
  /// mismatch with a still lower rank, only that rank reports. So a rank whose lengths are all wrong is
  /// reported once.
  void compare_lengths() {
    const auto here = static_cast<std::size_t>(state_->rank());
    for (std::size_t rank = 0; rank < all_.size(); ++rank) {
      const bool speaks = here <= rank;
      compare_length(speaks, here, rank, own_[rank].sent, all_[rank].expected);
      compare_length(speaks, rank, here, all_[rank].sent, own_[rank].expected);
    }
  }
  void compare_length(bool speaks, std::size_t from, std::size_t to, std::int64_t sent,
                      std::int64_t expected) {
    if (sent == expected || sent == Word::unknown || expected == Word::unknown) return;
    end_job_if(speaks, name_in_world(from) + " sends " + std::to_string(sent) + " bytes to " +
                           (from == to ? "itself, and" : name_in_world(to) + ", which") + " expects " +
                           std::to_string(expected));
  }

  void end_job_if(bool speaks, const std::string& what) {
    const std::string line = "STRETTO_CHECK: call number " + std::to_string(sequence_) +
                             " of a communicator of " + std::to_string(all_.size()) + " ranks: " + what;
    if (!mpi.has_library()) return state_->end_from(sequence_, line);
    if (speaks) complain(line + "; the job ends");
    end_job(speaks);
  }

  [[nodiscard]] std::string name_in_world(std::size_t rank) const {
    return "rank " + std::to_string(rank) + " (" + std::to_string(state_->ranks_in_world()[rank]) +
           (mpi.has_library() ? " of MPI_COMM_WORLD)" : " of the job)");
  }

  std::shared_ptr<Communicator> state_;
  std::uint64_t sequence_;
  std::vector<Word> own_;  // to each rank
  std::vector<Word> all_;  // from each rank
};

/// Returns the lengths of the blocks between borders.
std::vector<std::size_t> lengths_between(std::span<const std::size_t> borders) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) lengths.push_back(borders[i + 1] - borders[i]);
  return lengths;
}

}  // namespace

PrivateLengths PrivateLengths::of(Collective collective, const Call& call, int rank) {
  PrivateLengths lengths{lengths_between(call.borders), lengths_between(call.output_borders)};
  if (is_alltoall(collective)) return lengths;
  // Blocks go only between the root and each rank. Each rank has its own block, and the root has those of all
  // ranks.
  const bool gathers = is_gather(collective);
  std::vector<std::size_t>& own = gathers ? lengths.sent : lengths.expected;
  std::vector<std::size_t>& all = gathers ? lengths.expected : lengths.sent;
  const std::size_t block = own[static_cast<std::size_t>(rank)];
  own.assign(own.size(), 0);
  own[static_cast<std::size_t>(call.root)] = block;
  if (rank != call.root) all.assign(all.size(), 0);
  return lengths;
}

std::shared_ptr<Operation> compare(const std::shared_ptr<Communicator>& state, const CallTraits& traits,
                                   const PrivateLengths& lengths, const Spec& spec, Form form) {
  static const auto& bruck = make_immortal<const Spec>(
      Spec{.recipe = usual_recipe(*find_algorithm(Collective::alltoall, "bruck")), .pipelining = {}});
  CallTraits of_words{.collective = Collective::alltoall,
                      .bytes = sizeof(Word) * static_cast<std::size_t>(state->topology().ranks())};
  of_words.is_own = true;
  const std::uint64_t sequence = state->sequence();
  if (form == Form::blocking) {
    if (!wait_for_channel(*state, state->channel(), traits, spec)) return nullptr;
    Comparison comparison(traits, form, lengths, state, sequence);
    Operation operation(state, of_words, bruck, Form::blocking, comparison);
    const AwaitedCall awaited(*state, traits, spec, &operation);
    run(operation);
    return nullptr;
  }
  if (state->channel()->may_be_refused() && !wait_for_channel(*state, state->channel(), traits, spec)) {
    return nullptr;
  }
  using Own = OperationWithMessage<Comparison>;
  const auto make = [&] { return Comparison(traits, form, lengths, state, sequence); };
  auto kept = std::make_shared<Own>(make, ProgramHandles{mpi.datatype_null, mpi.datatype_null, mpi.op_null},
                                    state, of_words, bruck, Form::non_blocking);
  std::shared_ptr<Operation> operation{kept, &kept->operation};
  operation->start();
  if (!operation->ended()) add_outstanding(operation);
  return operation;
}

}  // namespace stretto
