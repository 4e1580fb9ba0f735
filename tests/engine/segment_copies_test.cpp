// SPDX-License-Identifier: Apache-2.0
// A segment is sent as soon as it is fetched, and is put back while others are still to be fetched. With a
// message of one segment, rounds take the place of segments. Copies are simulated, so the test does not
// depend on time. All ranks do this.
#include <algorithm>
#include <thread>
#include <vector>

#include "algorithms/registry.hpp"
#include "engine/data/segment_copies.hpp"
#include "engine/execution/schedule_execution.hpp"
#include "mpi_check.hpp"

namespace {

using namespace stretto;
using namespace stretto::test;

/// Simulated copies. Fetches end when the test lets them, and only then are their bytes in host memory.
class PlayedCopies final : public SegmentCopies {
 public:
  PlayedCopies(const std::vector<float>& users, std::vector<float>& host) : users_(users), host_(host) {}

  [[nodiscard]] bool goes_by_segments() const override { return true; }
  void fetch(const CopiedPart& /*part*/, std::span<const Range> elements) override {
    fetches_.emplace_back(elements.begin(), elements.end());
  }
  std::size_t arrived() override { return fails_ ? fetches_.size() : arrived_; }
  void put_back(const CopiedPart& /*part*/, std::span<const Range> elements) override {
    for (const Range& range : elements) put_back_ += range.count;
  }
  [[nodiscard]] bool has_failed() const override { return fails_; }

  void let_one_arrive() {
    for (const Range& range : fetches_[arrived_])
      std::copy_n(users_.data() + range.first, range.count, host_.data() + range.first);
    ++arrived_;
  }
  void fail() { fails_ = true; }
  [[nodiscard]] std::size_t fetches() const { return fetches_.size(); }
  [[nodiscard]] std::size_t on_the_way() const { return fetches_.size() - arrived_; }
  [[nodiscard]] std::size_t elements_put_back() const { return put_back_; }

 private:
  const std::vector<float>& users_;
  std::vector<float>& host_;
  std::vector<std::vector<Range>> fetches_;
  std::size_t arrived_ = 0;
  std::size_t put_back_ = 0;
  bool fails_ = false;
};

constexpr std::size_t count = 1 << 20;

template <typename Done>
void progress_until(Execution& execution, const Done& done) {
  while (!done()) {
    if (!execution.progress()) std::this_thread::yield();
  }
}

void run(const Pipelining& pipelining, bool fails) {
  const int ranks = size_of(mpi.comm_world);
  const Recipe recipe = usual_recipe(*find_algorithm(Collective::allreduce, "ring"));
  ScheduleExecution execution(make_transport(mpi.comm_world), nullptr,
                              build(recipe, Topology::flat(ranks), 0, world_rank), pipelining);
  const std::vector<float> users(count, 1);
  std::vector<float> input(count, -1);
  std::vector<float> output(count, -1);
  PlayedCopies copies(users, input);
  Call call = Call::whole(input.data(), output.data(), count, find_element(mpi.float_, mpi.sum).value());
  call.staging = &copies;
  execution.start(call, resources);
  STRETTO_CHECK(!execution.ended() && copies.elements_put_back() == 0);
  // A ring of two ranks reads all in its first round.
  STRETTO_CHECK(copies.fetches() > (ranks == 2 && pipelining.segments == 0 ? 0U : 1U));
  if (fails && world_rank == 0) {
    copies.fail();
  } else if (pipelining.segments > 1) {
    // The first segment is sent and put back while no other segment has been fetched.
    copies.let_one_arrive();
    if (!fails) {
      progress_until(execution, [&] { return copies.elements_put_back() > 0; });
      STRETTO_CHECK(copies.on_the_way() > 0 && copies.elements_put_back() < count);
    }
  }
  while (!execution.ended()) {
    if (copies.on_the_way() > 0) copies.let_one_arrive();
    if (!execution.progress()) std::this_thread::yield();
  }
  STRETTO_CHECK((execution.error() != MPI_SUCCESS) == fails);
  if (fails) return;
  STRETTO_CHECK(copies.elements_put_back() == count);
  STRETTO_CHECK(std::ranges::all_of(output, [&](float one) { return one == static_cast<float>(ranks); }));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  run({.segments = 8, .window = 2}, false);
  run({}, false);
  run({.segments = 8, .window = 2}, true);
  run({}, true);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
