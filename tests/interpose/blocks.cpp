// SPDX-License-Identifier: Apache-2.0
// The collectives that move blocks, as a program may call them: every form, every algorithm, blocks of every
// layout at any place, some of them empty, and several calls at once. Objects that may be freed are freed
// early.
//
//   every SEED      by every algorithm that fits, on many communicators
//   threads SEED    in threads with communicators of their own, by the specs of the environment
#include <deque>
#include <map>
#include <thread>

#include "blocks.hpp"
#include "forcing.hpp"

namespace {

struct Place {
  const char* name;
  MPI_Comm comm;
};

std::vector<Place> make_places() {
  const int rank = world_rank();
  const auto split = [&](const char* name, int color, int key) {
    Place place{name, MPI_COMM_NULL};
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &place.comm);
    return place;
  };
  std::vector<Place> places{{"MPI_COMM_WORLD", MPI_COMM_WORLD}};
  places.push_back({"a copy", MPI_COMM_NULL});
  MPI_Comm_dup(MPI_COMM_WORLD, &places.back().comm);
  places.push_back(split("reversed", 0, -rank));
  places.push_back(split("every other rank", rank % 2, rank));
  places.push_back(split("all but rank 0", rank == 0 ? MPI_UNDEFINED : 0, -rank));
  places.push_back(split("alone", rank, 0));
  return places;
}

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> made = derived_families();
    for (const Family& family : predefined_families()) {
      if (family.name == "MPI_DOUBLE" || family.name == "MPI_INT8_T" || family.name == "MPI_DOUBLE_INT")
        made.push_back(family);
    }
    return made;
  }();
  return all;
}

std::size_t below(Random& random, std::size_t limit) {
  return static_cast<std::size_t>(random.next() % limit);
}
bool chance(Random& random, std::size_t percent) {
  return below(random, 100) < percent;
}
template <typename T>
void shuffle(std::vector<T>& values, Random& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(random, i)]);
}

Exchange random_exchange(MpiFunction function, MPI_Comm comm, Random& shared) {
  constexpr std::array<std::size_t, 6> lengths{0, 1, 3, 40, 700, 5000};
  Exchange what{.function = function, .comm = comm};
  what.seed = shared.next() % 1000000;
  what.root = static_cast<int>(below(shared, static_cast<std::size_t>(size_of(comm))));
  what.most = lengths.at(below(shared, chance(shared, 10) ? 6 : 5));
  what.has_zeros = chance(shared, 40);
  what.in_place = chance(shared, 30);
  if (is_displaced(function)) {
    what.sent = static_cast<Placing>(below(shared, 3));
    what.received = static_cast<Placing>(below(shared, 2));
  }
  return what;
}

const Family& plain_family() {
  return *std::find_if(families().begin(), families().end(),
                       [](const Family& family) { return family.name == "MPI_DOUBLE"; });
}

Own random_own(const Family& family, Random& own) {
  const auto layout = [&] { return &family.layouts[below(own, family.layouts.size())]; };
  Own result{.sent = layout(), .received = layout()};
  if (!family.predefined) {
    result.absolute = chance(own, 20);
    result.frees_types = chance(own, 30);
  }
#if MPI_VERSION >= 4
  result.large = chance(own, 50);
#endif
  result.shift = 8 * below(own, 3);
  return result;
}

/// Several calls on one communicator: made in the same order on all ranks, started and completed in an order
/// of each rank's own where MPI allows that.
#ifdef MPICH_VERSION
constexpr bool mpich = true;
#else
constexpr bool mpich = false;
#endif

class Batch {
 public:
  Batch(MPI_Comm comm, std::uint64_t seed)
      : comm_(comm), shared_(seed), own_(seed * 131 + static_cast<std::uint64_t>(rank_in(comm)) + 7) {}

  /// `by_stretto`: Stretto carries the calls out.
  void run(MpiFunction function, std::vector<Face> faces, bool by_stretto, const std::string& context) {
    calls_.resize(faces.size());
    requests_.assign(faces.size(), MPI_REQUEST_NULL);
    std::vector<std::size_t> persistent;
    std::vector<std::size_t> made;
    bool in_order = false;  // the order in which the library requires persistent calls to be started
    for (std::size_t i = 0; i < faces.size(); ++i) {
      const Family& family = families()[below(shared_, families().size())];
      Exchange what = random_exchange(function, comm_, shared_);
      // The library carries out calls without bytes, if all ranks know that there are none. Open MPI's own
      // calls then do not keep types that are freed, and some are wrong if elements are in falling order or
      // begin before their address. MPICH 4.0.2's own persistent calls free the program's type at each start,
      // do nothing at the second start on one rank, and stay active in MPI_Waitany.
      const bool is_plain = !by_stretto || (what.most == 0 && !has_private_lengths(collective_of(function)));
      Own own = random_own(is_plain ? plain_family() : family, own_);
      if (is_plain) {
        in_order = true;
        if (mpich) faces[i] = Face::non_blocking;
        own.large = false;
        what.sent = what.received = Placing::in_order;
      }
      calls_[i].prepare(what, own);
      CHECK(calls_[i].make(faces[i], &requests_[i]) == MPI_SUCCESS, calls_[i].text(context));
      if (faces[i] == Face::blocking) calls_[i].check(context + ", blocking");
      if (faces[i] == Face::non_blocking) made.push_back(i);
      if (faces[i] == Face::persistent) persistent.push_back(i);
    }
    for (int start = 0; start < 2; ++start) {
      if (!in_order) shuffle(persistent, own_);
      for (const std::size_t i : persistent) {
        if (start > 0) calls_[i].refill(shared_of(i) + 1);
        CHECK(MPI_Start(&requests_[i]) == MPI_SUCCESS, calls_[i].text(context));
        made.push_back(i);
      }
      complete(made);
      for (const std::size_t i : made) {
        calls_[i].check(context + (start > 0                        ? ", started again"
                                   : faces[i] == Face::non_blocking ? ", non-blocking"
                                                                    : ", persistent"));
      }
      made.clear();
    }
    for (const std::size_t i : persistent) MPI_Request_free(&requests_[i]);
  }

 private:
  static std::uint64_t shared_of(std::size_t call) { return 77 * call + 5; }

  void complete(std::vector<std::size_t>& which) {
    shuffle(which, own_);
    std::vector<MPI_Request> requests;
    for (const std::size_t i : which) requests.push_back(requests_[i]);
    const auto count = static_cast<int>(requests.size());
    switch (below(own_, 3)) {
      case 0:
        for (MPI_Request& request : requests) CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        break;
      case 1:
        CHECK(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        break;
      default:
        for (int i = 0; i < count; ++i) {
          int done = 0;
          CHECK(MPI_Waitany(count, requests.data(), &done, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
    }
    for (std::size_t i = 0; i < which.size(); ++i) requests_[which[i]] = requests[i];
  }

  MPI_Comm comm_;
  Random shared_;
  Random own_;
  std::deque<BlocksCall> calls_;
  std::vector<MPI_Request> requests_;
};

const std::vector<Face> each_form{Face::blocking, Face::non_blocking, Face::persistent,
                                  Face::blocking, Face::persistent,   Face::non_blocking};

void run_every(std::uint64_t seed) {
  const std::vector<Place> places = make_places();
  std::map<MpiFunction, int> tried;
  for (const MpiFunction function : moving_functions) {
    const std::string collective(name_of(collective_of(function)));
    for (const std::string& spec : specs_of(collective)) {
      force(collective, spec);
      for (const Place& place : places) {
        ++seed;
        if (place.comm == MPI_COMM_NULL) continue;
        const bool is_alone = size_of(place.comm) == 1;
        if (!is_alone && !fits(place.comm, collective, spec, 1000)) continue;
        tried[function] += is_alone ? 0 : 1;
        Batch(place.comm, seed).run(function, each_form, !is_alone, spec + " on " + place.name);
      }
    }
  }
  for (const MpiFunction function : moving_functions)
    CHECK(tried[function] > 3, std::string(name_of(function)));
}

void run_threads(std::uint64_t seed) {
  constexpr int count = 3;
  std::vector<MPI_Comm> comms(count);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  families();
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      Random random(seed + t);
      for (int i = 0; i < 60; ++i) {
        const MpiFunction function = moving_functions.at(below(random, moving_functions.size()));
        std::vector<Face> faces = each_form;
        shuffle(faces, random);
        Batch(comms[t], random.next())
            .run(function, faces, size_of(comms[t]) > 1, "thread " + std::to_string(t));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 3);
  const bool has_threads = std::string_view(argv[1]) == "threads";
  int provided = 0;
  MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  const std::uint64_t seed = std::strtoull(argv[2], nullptr, 10) * 1000000;
  if (has_threads) {
    run_threads(seed);
  } else {
    run_every(seed);
  }
  MPI_Finalize();
}
