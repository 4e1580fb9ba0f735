// SPDX-License-Identifier: Apache-2.0
// An observer gets each copy of a call on device memory once: first the copies of the first segment, then of
// the next, and so on. The copies have all bytes of the message in each direction. They end late. Argument:
// the stand-in driver's path.
#include <algorithm>
#include <array>
#include <vector>

#include "algorithms/registry.hpp"
#include "engine/execution/native_execution.hpp"
#include "engine/execution/schedule_execution.hpp"
#include "mpi_check.hpp"
#include "on_device.hpp"

namespace {

using namespace stretto;
using namespace stretto::test;

constexpr std::size_t count = 1 << 20;
constexpr std::size_t bytes = count * sizeof(float);

class Copies final : public CopyObserver {
 public:
  struct Copy {
    CopiedPart of;
    std::size_t bytes = 0;
    bool has_ended = false;
  };

  std::size_t copy_begins(CopyDirection direction, const CopiedPart& of) override {
    numbers_.push_back({direction, in(direction).size()});
    in(direction).push_back({.of = of});
    return numbers_.size() - 1;
  }
  void copy_ends(std::size_t copy, std::size_t its_bytes) override {
    STRETTO_CHECK(copy < numbers_.size());
    auto& all = in(numbers_[copy].direction);
    const std::size_t index = numbers_[copy].index;
    STRETTO_CHECK(!all[index].has_ended && (index == 0 || all[index - 1].has_ended));
    all[index].has_ended = true;
    all[index].bytes = its_bytes;
  }

  std::vector<Copy>& in(CopyDirection direction) {
    return by_direction_.at(static_cast<std::size_t>(direction));
  }

 private:
  struct Number {
    CopyDirection direction;
    std::size_t index;
  };
  std::vector<Number> numbers_;
  std::array<std::vector<Copy>, 2> by_direction_;
};

/// Checks that these are all copies of the message in one direction.
void check_complete(const std::vector<Copies::Copy>& copies, std::size_t segments, bool by_parts) {
  std::size_t sum = 0;
  for (const auto& copy : copies) {
    STRETTO_CHECK(copy.has_ended && copy.bytes > 0);
    STRETTO_CHECK((copy.of.part != CopiedPart::whole) == by_parts);
    sum += copy.bytes;
  }
  STRETTO_CHECK(sum == bytes);
  std::vector<int> numbers;
  for (const auto& copy : copies) numbers.push_back(by_parts ? copy.of.part : copy.of.segment);
  std::ranges::sort(numbers);
  STRETTO_CHECK(by_parts ? numbers.size() > 1 : numbers.size() == segments);
  for (std::size_t i = 0; i < numbers.size(); ++i) STRETTO_CHECK(numbers[i] == static_cast<int>(i));
}

void observe(Execution& execution, Copies& copies) {
  std::vector<float> input(count, 1);
  std::vector<float> output(count, -1);
  {
    const OnDevice input_there(input.data(), bytes);
    const OnDevice output_there(output.data(), bytes);
    const Call call = Call::whole(input_there.at(input.data()), output_there.at(output.data()), count,
                                  find_element(mpi.float_, mpi.sum).value());
    STRETTO_CHECK(run_staged(execution, call, &copies) == MPI_SUCCESS);
  }
  const auto sum = static_cast<float>(size_of(mpi.comm_world));
  STRETTO_CHECK(std::ranges::all_of(output, [&](float one) { return one == sum; }));
}

void observe_ring(const Pipelining& pipelining, Copies& copies) {
  const Recipe recipe = usual_recipe(*find_algorithm(Collective::allreduce, "ring"));
  ScheduleExecution execution(make_transport(mpi.comm_world), nullptr,
                              build(recipe, Topology::flat(size_of(mpi.comm_world)), 0, world_rank),
                              pipelining);
  observe(execution, copies);
}

void by_segments() {
  Copies copies;
  observe_ring({.segments = 7, .window = 2}, copies);
  const auto& fetched = copies.in(CopyDirection::to_host);
  check_complete(fetched, 7, false);
  STRETTO_CHECK(std::ranges::is_sorted(fetched, {}, [](const auto& copy) { return copy.of.segment; }));
  check_complete(copies.in(CopyDirection::to_device), 7, false);
}

void by_parts_of_one_segment() {
  Copies copies;
  observe_ring({}, copies);
  const auto& fetched = copies.in(CopyDirection::to_host);
  // A ring of two ranks reads all in its first round.
  const bool reads_at_once = size_of(mpi.comm_world) == 2;
  check_complete(fetched, 1, !reads_at_once);
  STRETTO_CHECK(std::ranges::is_sorted(fetched, {}, [](const auto& copy) { return copy.of.part; }));
  check_complete(copies.in(CopyDirection::to_device), 1, true);
}

void as_a_whole() {
  NativeExecution execution(Collective::allreduce, mpi.comm_world, {.segments = 2});
  Copies copies;
  observe(execution, copies);
  for (const CopyDirection direction : {CopyDirection::to_host, CopyDirection::to_device}) {
    const auto& all = copies.in(direction);
    STRETTO_CHECK(all.size() == 1 && all[0].of.segment == CopiedPart::whole && all[0].bytes == bytes);
    STRETTO_CHECK(all[0].has_ended);
  }
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  STRETTO_CHECK(argc == 2);
  load_driver(argv[1]);
  by_segments();
  by_parts_of_one_segment();
  as_a_whole();
  MPI_Finalize();
  return EXIT_SUCCESS;
}
