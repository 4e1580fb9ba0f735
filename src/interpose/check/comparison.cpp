// SPDX-License-Identifier: Apache-2.0
#include "interpose/check/comparison.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "interpose/operations/run_operation.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

/// What else decides how a call is carried out: a field of its traits, and what is said of a rank where it is
/// true, and where it is not.
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

/// What must be equal, in the order of the checks.
struct Facts {
  std::int64_t collective = 0;
  std::int64_t form = 0;
  std::int64_t root = 0;
  std::int64_t operation = 0;
  std::int64_t element_bytes = 0;  // 0: the library must judge the datatype
  std::int64_t bytes = 0;
  std::int64_t decisive = 0;  // a bit for each
};

Facts facts_of(const CallTraits& traits, Form form) {
  std::int64_t bits = 0;
  for (std::size_t i = 0; i < decisive.size(); ++i) bits |= std::int64_t{decisive.at(i).is_true(traits)} << i;
  return {.collective = static_cast<std::int64_t>(traits.collective),
          .form = static_cast<std::int64_t>(form),
          .root = has_root(traits.collective) ? traits.root : 0,
          .operation = traits.operation,
          .element_bytes = static_cast<std::int64_t>(traits.element_bytes),
          .bytes = static_cast<std::int64_t>(traits.bytes),
          .decisive = bits};
}

std::string text_of_face(std::int64_t form) {
  constexpr std::array<const char*, 3> names{"a blocking call", "a non-blocking call", "a persistent call"};
  return names.at(static_cast<std::size_t>(form));
}

std::string name_of_collective(std::int64_t collective) {
  return std::string(name_of(static_cast<Collective>(collective)));
}

/// The bytes of two ranks can only be compared if both know the size of their elements.
bool are_comparable(const Facts& left, const Facts& right) {
  return left.element_bytes != 0 && right.element_bytes != 0;
}

/// How two calls differ, in one text for each. Empty if they match.
struct Difference {
  std::string left;
  std::string right;
};
Difference difference(const Facts& left, const Facts& right) {
  if (left.collective != right.collective) {
    return {"calls " + name_of_collective(left.collective), "calls " + name_of_collective(right.collective)};
  }
  if (left.form != right.form) {
    return {"makes " + text_of_face(left.form), "makes " + text_of_face(right.form)};
  }
  if (left.root != right.root) {
    return {"has root " + std::to_string(left.root), "has root " + std::to_string(right.root)};
  }
  if (left.operation != right.operation) {
    return {"reduces by " + name_of_operation(static_cast<int>(left.operation)),
            "reduces by " + name_of_operation(static_cast<int>(right.operation))};
  }
  for (std::size_t i = 0; i < decisive.size(); ++i) {
    const bool is_true = (left.decisive >> i & 1) != 0;
    if (is_true == ((right.decisive >> i & 1) != 0)) continue;
    const Decisive& one = decisive.at(i);
    return {is_true ? one.yes : one.no, is_true ? one.no : one.yes};
  }
  if (!are_comparable(left, right)) return {};
  // Where nothing is reduced, ranks may describe the same data by different datatypes.
  if (is_reduction(static_cast<Collective>(left.collective)) && left.element_bytes != right.element_bytes) {
    return {"has elements of " + std::to_string(left.element_bytes) + " bytes",
            "has elements of " + std::to_string(right.element_bytes) + " bytes"};
  }
  if (left.bytes != right.bytes) {
    return {"has a message of " + std::to_string(left.bytes) + " bytes",
            "has a message of " + std::to_string(right.bytes) + " bytes"};
  }
  return {};
}

/// What a rank tells another one.
struct Word {
  static constexpr std::int64_t unknown = -1;
  Facts facts;
  std::int64_t sent = unknown;      // bytes to that rank
  std::int64_t expected = unknown;  // bytes from it
};

/// An alltoall of words.
class Comparison final : public Message {
 public:
  Comparison(const Facts& facts, const PrivateLengths& lengths, std::shared_ptr<Communicator> state,
             std::uint64_t sequence)
      : state_(std::move(state)),
        sequence_(sequence),
        own_(static_cast<std::size_t>(state_->topology().ranks()), Word{.facts = facts}),
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
      const Difference found = difference(all_[0].facts, all_[rank].facts);
      if (!found.left.empty()) report_mismatch(found, rank);
    }
    compare_lengths();
    return MPI_SUCCESS;
  }

 private:
  /// To be called on all ranks, which have found the same.
  void report_mismatch(const Difference& found, std::size_t rank) {
    end_job_if(state_->rank() == 0,
               name_in_world(0) + " " + found.left + ", " + name_in_world(rank) + " " + found.right);
  }

  /// Only two ranks know how long a block is. The lower one speaks, unless that one is silent because of a
  /// still lower one, so that one rank whose lengths are all wrong is told of once.
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
    end_job_if(speaks, name_in_world(from) + " sends " + (from == to ? "itself" : name_in_world(to)) + " " +
                           std::to_string(sent) + " bytes, which expects " + std::to_string(expected));
  }

  void end_job_if(bool speaks, const std::string& what) {
    if (speaks) {
      complain("STRETTO_CHECK: call number " + std::to_string(sequence_) + " of a communicator of " +
               std::to_string(all_.size()) + " ranks: " + what + "; the job ends");
    }
    end_job(speaks);
  }

  [[nodiscard]] std::string name_in_world(std::size_t rank) const {
    return "rank " + std::to_string(rank) + " (" + std::to_string(state_->ranks_in_world()[rank]) +
           " of MPI_COMM_WORLD)";
  }

  std::shared_ptr<Communicator> state_;
  std::uint64_t sequence_;
  std::vector<Word> own_;  // to each rank
  std::vector<Word> all_;  // from each rank
};

/// The lengths of the blocks between borders.
std::vector<std::size_t> lengths_between(std::span<const std::size_t> borders) {
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) lengths.push_back(borders[i + 1] - borders[i]);
  return lengths;
}

/// The same, as if all but one were empty.
std::vector<std::size_t> only(std::size_t one, std::size_t length, std::size_t ranks) {
  std::vector<std::size_t> lengths(ranks, 0);
  lengths[one] = length;
  return lengths;
}

}  // namespace

PrivateLengths PrivateLengths::of(Collective collective, const Call& call, int rank) {
  PrivateLengths lengths{lengths_between(call.borders), lengths_between(call.output_borders)};
  if (is_alltoall(collective)) return lengths;
  // A rooted collective: in one direction, blocks go between the root and each rank only.
  const auto here = static_cast<std::size_t>(rank);
  const auto root = static_cast<std::size_t>(call.root);
  const std::size_t ranks = lengths.sent.size();
  const bool gathers = is_gather(collective);
  std::vector<std::size_t>& own = gathers ? lengths.sent : lengths.expected;
  std::vector<std::size_t>& all = gathers ? lengths.expected : lengths.sent;
  own = only(root, own[here], ranks);
  if (here != root) all.assign(ranks, 0);
  return lengths;
}

std::shared_ptr<Operation> compare(const std::shared_ptr<Communicator>& state, const CallTraits& traits,
                                   const PrivateLengths& lengths, const Spec& spec, Form form) {
  static const auto& bruck = make_immortal<const Spec>(
      Spec{.recipe = usual_recipe(*find_algorithm(Collective::alltoall, "bruck")), .pipelining = {}});
  CallTraits of_facts{.collective = Collective::alltoall,
                      .bytes = sizeof(Word) * static_cast<std::size_t>(state->topology().ranks())};
  of_facts.is_own = true;
  const Facts own = facts_of(traits, form);
  const std::uint64_t sequence = state->sequence();
  if (form == Form::blocking) {
    if (!wait_for_channel(*state, state->channel(), traits, spec)) return nullptr;
    Comparison comparison(own, lengths, state, sequence);
    Operation operation(state, of_facts, bruck, Form::blocking, comparison);
    const AwaitedCall awaited(*state, traits, spec, &operation);
    run(operation);
    return nullptr;
  }
  if (state->channel()->may_be_refused() && !wait_for_channel(*state, state->channel(), traits, spec)) {
    return nullptr;
  }
  using Own = OperationWithMessage<Comparison>;
  const auto make = [&] { return Comparison(own, lengths, state, sequence); };
  auto kept = std::make_shared<Own>(make, ProgramHandles{mpi.datatype_null, mpi.datatype_null, mpi.op_null},
                                    state, of_facts, bruck, Form::non_blocking);
  std::shared_ptr<Operation> operation{kept, &kept->operation};
  operation->start();
  if (!operation->ended()) add_outstanding(operation);
  return operation;
}

}  // namespace stretto
