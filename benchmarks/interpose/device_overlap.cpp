// SPDX-License-Identifier: Apache-2.0
// Measures what staging by segments hides of the copies of device memory, by a GPU's driver or by a stand-in
// whose copies take a set time for each byte. In turns:
//   link      the collective on host memory, which is pinned
//   copy      the input to the host, alone
//   whole     the input to the host, the collective on host memory, the result back: one after the other
//   segments  the collective on device memory
// First the link alone is measured. Then the stand-in's copies get the rate at which one of them takes as
// long as the link, or another share of that time. A ratio `whole / segments` above 1 says that segments are
// faster; no way is faster than max(copy, link). Prints the table of docs/device-memory.md, from which
// device_segments.py reads it: medians, and quartiles of the ratios. Run it under the preload, between nodes:
//   stretto lab run --mpi openmpi --stretto -- device-overlap-openmpi DRIVER [bytes [turns [spec...]]]
// Arguments: the driver, libcuda.so.1 for a GPU's or the stand-in's path; the bytes of the message; how often
// each is measured; the specs. With 0 turns nothing is measured: each spec carries out two calls, for
// STRETTO_TRACE; a copy takes three quarters of the link's time by the first spec.
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../tests/device_memory.hpp"
#include "measured.hpp"

namespace {

void* driver = nullptr;
template <typename Function>
Function find(void* library, const char* name) {
  const auto function = reinterpret_cast<Function>(dlsym(library, name));
  if (function != nullptr) return function;
  std::fprintf(stderr, "there is no %s; is Stretto preloaded?\n", name);
  std::abort();
}

struct Measured {
  std::vector<double> seconds;

  [[nodiscard]] double quantile(double share) const { return ::quantile(seconds, share); }
  [[nodiscard]] double median() const { return quantile(0.5); }
};

/// The buffers of an allreduce, in host and in device memory.
class Allreduce {
 public:
  explicit Allreduce(std::size_t bytes)
      : bytes_(bytes),
        host_in_(bytes / sizeof(float), 1),
        host_out_(host_in_.size()),
        in_(driver, bytes),
        out_(driver, bytes) {
    in_.pin(host_in_.data());
    out_.pin(host_out_.data());
    in_.put(host_in_.data());
  }

  void use(const std::string& spec) {
    spec_ = spec;
    find<int (*)(const char*, const char*, std::size_t)>(RTLD_DEFAULT, "stretto_force")(
        "allreduce", spec.c_str(), 1 << 16);
  }

  void on_host() { sum(host_in_.data(), host_out_.data()); }
  void on_device() { sum(in_.address(), out_.address()); }
  void fetch() { in_.get(host_in_.data()); }
  void put_back() { out_.put(host_out_.data()); }

  /// Returns the median of some calls on host memory.
  double link_alone() {
    Measured alone;
    for (int i = 0; i < 4; ++i) {
      const double seconds = time_of([&] { on_host(); });
      if (i > 0) alone.seconds.push_back(seconds);
    }
    return alone.median();
  }

  /// Whether the driver's copies can be given a rate.
  [[nodiscard]] static bool is_stand_in() { return dlsym(driver, "stand_in_set_rate") != nullptr; }

  /// From now on, a copy of the message takes so long on each rank by the stand-in.
  void let_copies_take(double seconds) const {
    if (!is_stand_in()) return;
    double rate = static_cast<double>(bytes_) / seconds;
    MPI_Bcast(&rate, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    find<void (*)(double)>(driver, "stand_in_set_rate")(rate);
  }

  /// Prints a row for each share of the link's time that copies take.
  void measure(int turns);

 private:
  void sum(const void* from, void* to) const {
    MPI_Allreduce(from, to, static_cast<int>(host_in_.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }

  std::size_t bytes_;
  std::string spec_;
  std::vector<float> host_in_;
  std::vector<float> host_out_;
  stretto::test::DeviceMemory in_;
  stretto::test::DeviceMemory out_;
};

void Allreduce::measure(int turns) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double alone = link_alone();
  std::string named = "`" + spec_ + "` ";
  const std::vector<double> shares = is_stand_in() ? std::vector{0.25, 0.5, 1.0, 2.0} : std::vector{1.0};
  for (const double share : shares) {
    let_copies_take(alone * share);
    std::array<Measured, 4> all;
    std::vector<double> ratios;
    std::vector<double> overheads;
    for (int turn = -1; turn < turns; ++turn) {
      const std::array<double, 4> seconds{time_of([&] { on_host(); }), time_of([&] { fetch(); }),
                                          time_of([&] {
                                            fetch();
                                            on_host();
                                            put_back();
                                          }),
                                          time_of([&] { on_device(); })};
      if (turn < 0) continue;  // warms up
      for (std::size_t i = 0; i < all.size(); ++i) all.at(i).seconds.push_back(seconds.at(i));
      ratios.push_back(seconds[2] / seconds[3]);
      overheads.push_back(seconds[3] / std::max(seconds[0], seconds[1]));
    }
    if (rank != 0) continue;
    const Measured ratio{ratios};
    const Measured overhead{overheads};
    std::printf("| %s| %.3g | %.3g s | %.3g s | %.3g s | %.3g s | %.2f (%.2f–%.2f) | %.2f (%.2f–%.2f) |\n",
                named.c_str(), is_stand_in() ? share : all[1].median() / all[0].median(), all[0].median(),
                all[1].median(), all[2].median(), all[3].median(), ratio.median(), ratio.quantile(0.25),
                ratio.quantile(0.75), overhead.median(), overhead.quantile(0.25), overhead.quantile(0.75));
    named.clear();
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 2 || (driver = dlopen(argv[1], RTLD_LAZY)) == nullptr) {
    std::fprintf(stderr, "usage: %s DRIVER [bytes [turns [spec...]]]\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const std::size_t bytes = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::size_t{16} << 20;
  const int turns = argc > 3 ? std::atoi(argv[3]) : 7;
  const std::vector<std::string> specs = argc > 4 ? std::vector<std::string>(argv + 4, argv + argc)
                                                  : std::vector<std::string>{"ring:segment_bytes=1MiB"};
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && turns > 0) {
    std::puts(
        "| spec | copy / link | link | copy | whole | segments | whole / segments | segments / max(copy, "
        "link) |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |");
  }
  Allreduce allreduce(bytes);
  allreduce.use(specs.front());
  // Neither then waits for the other all the time.
  if (turns == 0) allreduce.let_copies_take(allreduce.link_alone() * 0.75);
  for (const std::string& spec : specs) {
    allreduce.use(spec);
    if (turns > 0) allreduce.measure(turns);
    for (int call = 0; turns == 0 && call < 2; ++call) time_of([&] { allreduce.on_device(); });
  }
  MPI_Finalize();
}
