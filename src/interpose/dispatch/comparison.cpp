// SPDX-License-Identifier: Apache-2.0
#include "interpose/dispatch/comparison.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "interpose/operations/run_operation.hpp"
#include "interpose/progress/progress.hpp"
#include "interpose/session/session.hpp"

namespace stretto {
namespace {

/// What must be equal, in the order of the checks.
struct Facts {
  std::int64_t collective = 0;
  std::int64_t face = 0;
  std::int64_t root = 0;
  std::int64_t operation = 0;
  std::int64_t element_bytes = 0;  // 0: the library must judge the datatype
  std::int64_t bytes = 0;
};

Facts facts_of(const CallTraits& traits, Face face) {
  return {.collective = static_cast<std::int64_t>(traits.collective),
          .face = static_cast<std::int64_t>(face),
          .root = has_root(traits.collective) ? traits.root : 0,
          .operation = traits.operation,
          .element_bytes = static_cast<std::int64_t>(traits.element_bytes),
          .bytes = static_cast<std::int64_t>(traits.bytes)};
}

std::string text_of_face(std::int64_t face) {
  constexpr std::array<const char*, 3> names{"a blocking call", "a non-blocking call", "a persistent call"};
  return names.at(static_cast<std::size_t>(face));
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
  if (left.face != right.face) {
    return {"makes " + text_of_face(left.face), "makes " + text_of_face(right.face)};
  }
  if (left.root != right.root) {
    return {"has root " + std::to_string(left.root), "has root " + std::to_string(right.root)};
  }
  if (left.operation != right.operation) {
    return {"reduces by " + name_of_operation(static_cast<int>(left.operation)),
            "reduces by " + name_of_operation(static_cast<int>(right.operation))};
  }
  if (!are_comparable(left, right)) return {};
  // The ranks of a broadcast or an allgather may describe the same data by different datatypes.
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

/// An allgather of facts.
class Comparison final : public Message {
 public:
  Comparison(const Facts& own, std::shared_ptr<Communicator> state, std::uint64_t sequence)
      : own_(own),
        state_(std::move(state)),
        sequence_(sequence),
        all_(static_cast<std::size_t>(state_->topology().ranks())) {
    for (std::size_t i = 0; i <= all_.size(); ++i) borders_.push_back(i * sizeof(Facts));
    call = Call::whole(&own_, all_.data(), all_.size() * sizeof(Facts), byte_element());
    call.borders = borders_;
    call.input_holds = {borders_[static_cast<std::size_t>(state_->rank())], sizeof(Facts)};
  }

  int finish() override {
    for (std::size_t rank = 1; rank < all_.size(); ++rank) {
      const Difference found = difference(all_[0], all_[rank]);
      if (!found.left.empty()) report_mismatch(found, rank);
    }
    return MPI_SUCCESS;
  }

 private:
  /// To be called on all ranks, which have found the same.
  void report_mismatch(const Difference& found, std::size_t rank) {
    const bool speaks = state_->rank() == 0;
    if (speaks) {
      complain("STRETTO_CHECK: call number " + std::to_string(sequence_) + " of a communicator of " +
               std::to_string(all_.size()) + " ranks: rank 0 (" + in_world(0) + ") " + found.left +
               ", rank " + std::to_string(rank) + " (" + in_world(rank) + ") " + found.right +
               "; the job ends");
    }
    end_job(speaks);
  }

  [[nodiscard]] std::string in_world(std::size_t rank) const {
    return std::to_string(state_->ranks_in_world()[rank]) + " of MPI_COMM_WORLD";
  }

  Facts own_;
  std::shared_ptr<Communicator> state_;
  std::uint64_t sequence_;
  std::vector<Facts> all_;
};

}  // namespace

std::shared_ptr<Operation> compare(const std::shared_ptr<Communicator>& state, const CallTraits& traits,
                                   const Spec& spec, Face face) {
  static const Spec bruck{.recipe = usual_recipe(*find_algorithm(Collective::allgather, "bruck")),
                          .pipelining = {}};
  CallTraits of_facts{.collective = Collective::allgather,
                      .bytes = sizeof(Facts) * static_cast<std::size_t>(state->topology().ranks())};
  of_facts.is_own = true;
  const Facts own = facts_of(traits, face);
  const std::uint64_t sequence = state->sequence();
  if (face == Face::blocking) {
    if (!wait_for_channel(*state, state->channel(), traits, spec)) return nullptr;
    Comparison comparison(own, state, sequence);
    Operation operation(state, of_facts, bruck, Face::blocking, comparison);
    const AwaitedCall awaited(*state, traits, spec, &operation);
    run(operation);
    return nullptr;
  }
  if (state->channel()->may_be_refused() && !wait_for_channel(*state, state->channel(), traits, spec)) {
    return nullptr;
  }
  using Own = OperationWithMessage<Comparison>;
  const auto make = [&] { return Comparison(own, state, sequence); };
  auto kept = std::make_shared<Own>(make, ProgramHandles{mpi.datatype_null, mpi.datatype_null, mpi.op_null},
                                    state, of_facts, bruck, Face::non_blocking);
  std::shared_ptr<Operation> operation{kept, &kept->operation};
  operation->start();
  if (!operation->ended()) add_outstanding(operation);
  return operation;
}

}  // namespace stretto
