// SPDX-License-Identifier: Apache-2.0
// Persistent collectives: made, started again and again with other contents, waited for in all ways, freed.
//
//   persistent PART [everything]
//
//   most       all that is not named below
//   orders     several of a communicator, started in another order on each rank
//   threads    MPI_THREAD_MULTIPLE: made, started and waited for in different threads
//   freed      datatypes and operations freed before the calls that use them are started
//   orphans    communicators freed before the calls on them are started
//   rising     MPI_Reduce_scatter_init in place with ever larger blocks
//
// Without `everything`, the faults of MPICH 4.0.2 are left out: its MPI_Allgather_init on a power of two of
// ranks can be started only once; Waitany, Testany, Waitsome and Testsome find a persistent collective that
// is inactive; and Testall of an active one returns MPI_ERR_IN_STATUS. In Open MPI 4.1.4 itself `freed`
// fails, in MPICH `rising`.
#include <deque>
#include <numeric>
#include <thread>

#include "check.hpp"
#include "collectives.hpp"
#include "each.hpp"

namespace {

constexpr int tag = 12;

bool is_empty(const MPI_Status& status) {
  int cancelled = -1;
  int count = -1;
  MPI_Test_cancelled(&status, &cancelled);
  MPI_Get_count(&status, MPI_BYTE, &count);
  return status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && count == 0 && cancelled == 0;
}

/// A call with its request, which stays the same until it is freed.
class Persistent {
 public:
  MPI_Request request = MPI_REQUEST_NULL;
  Call call;

  explicit Persistent(const Task& task, bool large = false) {
    call.prepare(task, 0);
    int error = MPI_SUCCESS;
#if MPI_VERSION >= 4
    error = large ? call.init_large(&request) : call.init(&request);
#else
    CHECK(!large);
    error = call.init(&request);
#endif
    CHECK(error == MPI_SUCCESS && request != MPI_REQUEST_NULL, call.text("init"));
    handle_ = request;
  }
  void start(std::uint64_t seed) {
    call.refill(seed);
    CHECK(call.start(&request) == MPI_SUCCESS && request == handle_, call.text("start"));
  }
  void completed(const std::string& context) const {
    CHECK(request == handle_, call.text(context) + ": the handle is gone");
    call.check(context);
  }
  void free() {
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
  }

 private:
  MPI_Request handle_{};
};
using Many = std::deque<Persistent>;

void free_all(Many& many) {
  for (Persistent& each : many) each.free();
  many.clear();
}

std::vector<MPI_Request> requests_of(const Many& many) {
  std::vector<MPI_Request> requests;
  for (const Persistent& each : many) requests.push_back(each.request);
  return requests;
}

bool leave_out = false;  // whether to leave out the library's faults
bool leave_out_ways() {
#ifdef OPEN_MPI
  return false;
#else
  return leave_out;
#endif
}
/// Whether a call of it can be started more than once.
bool restarts([[maybe_unused]] MpiFunction function) {
#ifdef OPEN_MPI
  return true;
#else
  const int ranks = size_of(MPI_COMM_WORLD);
  return !leave_out || function != MpiFunction::allgather || (ranks & (ranks - 1)) != 0;
#endif
}

/// One small and one large call of each function, on these communicators in turn.
Many of_called_functions(const std::vector<MPI_Comm>& comms, std::size_t number) {
  Many many;
  for (std::size_t i = 0; i < 2 * called_functions.size(); ++i) {
    if (!restarts(called_functions.at(i % called_functions.size()))) continue;
    const std::size_t counts[] = {3, 4000, 1, 300, 0};
    many.emplace_back(some_task(called_functions.at(i % called_functions.size()), comms[i % comms.size()],
                                counts[(i + number) % 5], number + i));
  }
  return many;
}

/// 0 to size-1, in an order of the rank's own unless all must have the same order.
std::vector<std::size_t> order(std::size_t size, std::size_t turn, bool same) {
  std::vector<std::size_t> places(size);
  std::iota(places.begin(), places.end(), 0);
  Random random(turn * 100 + (same ? 0 : static_cast<std::uint64_t>(world_rank()) + 1));
  for (std::size_t i = size; i > 1; --i) std::swap(places[i - 1], places[random.next() % i]);
  return places;
}

// ---- ways to complete what was started

void wait_each(Many& many, std::size_t turn) {
  for (const std::size_t i : order(many.size(), turn, false)) {
    MPI_Status status{};
    status.MPI_ERROR = 4711;
    CHECK(MPI_Wait(&many[i].request, &status) == MPI_SUCCESS && status.MPI_ERROR == 4711);
    many[i].completed("Wait");
    // It is inactive now.
    CHECK(MPI_Wait(&many[i].request, &status) == MPI_SUCCESS && is_empty(status));
  }
}
void test_each(Many& many, std::size_t turn) {
  for (const std::size_t i : order(many.size(), turn, false)) {
    int done = 0;
    while (done == 0) MPI_Test(&many[i].request, &done, MPI_STATUS_IGNORE);
    many[i].completed("Test");
    done = 0;
    MPI_Status status{};
    MPI_Test(&many[i].request, &done, &status);
    CHECK(done == 1 && is_empty(status), "Test of an inactive request");
    done = 0;
    MPI_Request_get_status(many[i].request, &done, &status);
    CHECK(done == 1 && is_empty(status), "Request_get_status of an inactive request");
  }
}
void get_status(Many& many, std::size_t turn) {
  for (const std::size_t i : order(many.size(), turn, false)) {
    int done = 0;
    while (done == 0) MPI_Request_get_status(many[i].request, &done, MPI_STATUS_IGNORE);
    done = 0;
    MPI_Test(&many[i].request, &done, MPI_STATUS_IGNORE);
    CHECK(done == 1);
    many[i].completed("Request_get_status");
  }
}
void wait_all(Many& many, std::size_t /*turn*/) {
  std::vector<MPI_Request> requests = requests_of(many);
  CHECK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
  CHECK(requests == requests_of(many));
  for (const Persistent& each : many) each.completed("Waitall");
}
void test_all(Many& many, std::size_t /*turn*/) {
  std::vector<MPI_Request> requests = requests_of(many);
  int done = 0;
  while (done == 0)
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
  CHECK(requests == requests_of(many));
  for (const Persistent& each : many) each.completed("Testall");
}
/// Completes one request after the other. Completed requests are inactive and must not be found again.
void any(Many& many, bool wait) {
  std::vector<MPI_Request> requests = requests_of(many);
  const int size = static_cast<int>(requests.size());
  std::vector<int> times(many.size(), 0);
  std::size_t found = 0;
  while (true) {
    int index = -1;
    int done = 1;
    if (wait) {
      MPI_Waitany(size, requests.data(), &index, MPI_STATUS_IGNORE);
    } else {
      MPI_Testany(size, requests.data(), &index, &done, MPI_STATUS_IGNORE);
    }
    if (done == 0) continue;
    if (index == MPI_UNDEFINED) break;
    CHECK(index >= 0 && index < size && ++times[static_cast<std::size_t>(index)] == 1, "any");
    many[static_cast<std::size_t>(index)].completed("any");
    ++found;
  }
  CHECK(found == many.size(), "found " + std::to_string(found) + " of " + std::to_string(many.size()));
  CHECK(requests == requests_of(many));
}
void wait_any(Many& many, std::size_t /*turn*/) {
  any(many, true);
}
void test_any(Many& many, std::size_t /*turn*/) {
  any(many, false);
}
void some(Many& many, bool wait) {
  std::vector<MPI_Request> requests = requests_of(many);
  const int size = static_cast<int>(requests.size());
  std::vector<int> indices(many.size());
  std::vector<int> times(many.size(), 0);
  const auto function = wait ? MPI_Waitsome : MPI_Testsome;
  std::size_t found = 0;
  while (true) {
    int count = -1;
    function(size, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
    if (count == MPI_UNDEFINED) break;
    CHECK(count >= (wait ? 1 : 0) && count <= size, "some");
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      CHECK(++times.at(static_cast<std::size_t>(indices[i])) == 1, "some");
      many[static_cast<std::size_t>(indices[i])].completed("some");
      ++found;
    }
  }
  CHECK(found == many.size());
  CHECK(requests == requests_of(many));
}
void wait_some(Many& many, std::size_t /*turn*/) {
  some(many, true);
}
void test_some(Many& many, std::size_t /*turn*/) {
  some(many, false);
}

using Way = void (*)(Many&, std::size_t);
const Way ways[] = {wait_each, wait_all, test_each, get_status, test_all,
                    wait_any,  test_any, wait_some, test_some};
void complete(Many& many, std::size_t turn) {
  // In half of the turns each rank completes in its own way.
  const std::size_t skew = turn % 2 == 0 ? 0 : static_cast<std::size_t>(world_rank());
  const std::size_t number = leave_out_ways() ? 4 : std::size(ways);
  ways[(turn / 2 + skew) % number](many, turn);
}

// ---- parts

void restarted(bool same_order) {
  std::vector<MPI_Comm> comms{dup_of(MPI_COMM_WORLD)};
  for (std::size_t number = 0; number < 10; ++number) {
    if (number == 5) comms.push_back(dup_of(MPI_COMM_WORLD));
    Many many = of_called_functions(comms, number);
    for (std::size_t turn = 0; turn < 20; ++turn) {
      for (const std::size_t i : order(many.size(), turn, same_order))
        many[i].start(number * 1000 + turn * 20 + i);
      complete(many, turn + number);
    }
    // Freed in another order on each rank.
    for (const std::size_t i : order(many.size(), number, false)) many[i].free();
  }
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

/// Inactive ones are skipped, wherever they are.
void inactive() {
  MPI_Comm comm = dup_of(MPI_COMM_WORLD);
  Many many = of_called_functions({comm}, 3);
  for (std::size_t turn = 0; turn < many.size(); ++turn) {
    std::vector<MPI_Request> requests = requests_of(many);
    const int size = static_cast<int>(requests.size());
    MPI_Status status{};
    std::vector<MPI_Status> statuses(many.size());
    std::vector<int> indices(many.size());
    int index = -1;
    int flag = -1;
    MPI_Waitany(size, requests.data(), &index, &status);
    CHECK(index == MPI_UNDEFINED && is_empty(status), "Waitany of inactive requests");
    MPI_Testany(size, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
    CHECK(index == MPI_UNDEFINED && flag == 1, "Testany of inactive requests");
    MPI_Waitsome(size, requests.data(), &index, indices.data(), statuses.data());
    CHECK(index == MPI_UNDEFINED, "Waitsome of inactive requests");
    index = -1;
    MPI_Testsome(size, requests.data(), &index, indices.data(), statuses.data());
    CHECK(index == MPI_UNDEFINED, "Testsome of inactive requests");
    MPI_Waitall(size, requests.data(), statuses.data());
    for (const MPI_Status& each : statuses) CHECK(is_empty(each), "Waitall of inactive requests");
    flag = -1;
    MPI_Testall(size, requests.data(), &flag, statuses.data());
    CHECK(flag == 1, "Testall of inactive requests");

    // One of them among the others.
    many[turn].start(turn);
    index = -1;
    if (turn % 2 == 0) {
      MPI_Waitany(size, requests.data(), &index, &status);
    } else {
      int count = -1;
      MPI_Waitsome(size, requests.data(), &count, indices.data(), statuses.data());
      CHECK(count == 1);
      index = indices[0];
    }
    CHECK(index == static_cast<int>(turn));
    many[turn].completed("the only active one");
    CHECK(requests == requests_of(many));
  }
  free_all(many);
  MPI_Comm_free(&comm);
}

/// MPI_Startall of collectives and the program's own persistent messages together.
void started_together() {
  const int ranks = size_of(MPI_COMM_WORLD);
  const int right = (world_rank() + 1) % ranks;
  const int left = (world_rank() + ranks - 1) % ranks;
  MPI_Comm comm = dup_of(MPI_COMM_WORLD);
  Many many = of_called_functions({comm}, 1);
  int sent = 0;
  int received = -1;
  std::vector<MPI_Request> requests = requests_of(many);
  MPI_Request send{};
  MPI_Request recv{};
  MPI_Send_init(&sent, 1, MPI_INT, right, tag, comm, &send);
  MPI_Recv_init(&received, 1, MPI_INT, left, tag, comm, &recv);
  requests.insert(requests.begin() + 3, send);
  requests.insert(requests.begin() + 7, recv);
  const std::vector<MPI_Request> handles = requests;
  for (int turn = 0; turn < 30; ++turn) {
    for (std::size_t i = 0; i < many.size(); ++i) {
      many[i].call.refill(static_cast<std::uint64_t>(turn) * 100 + i);
      count_call(many[i].call.task().function);
    }
    sent = turn * 10 + world_rank();
    CHECK(MPI_Startall(static_cast<int>(requests.size()), requests.data()) == MPI_SUCCESS);
    CHECK(requests == handles);
    std::vector<MPI_Status> statuses(requests.size());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data());
    CHECK(requests == handles);
    CHECK(received == turn * 10 + left && statuses[7].MPI_SOURCE == left && statuses[7].MPI_TAG == tag);
    for (const Persistent& each : many) each.completed("Startall");
  }
  MPI_Request_free(&send);
  MPI_Request_free(&recv);
  free_all(many);
  MPI_Comm_free(&comm);
}

/// Persistent, non-blocking and blocking calls on one communicator, and a call that the library carries out.
void among_others() {
  MPI_Comm comm = dup_of(MPI_COMM_WORLD);
  Many many = of_called_functions({comm}, 2);
  for (std::size_t turn = 0; turn < 24; ++turn) {
    Call begun;
    Call blocked;
    MPI_Request request{};
    begun.prepare(some_task(paired_functions.at(turn % 6), comm, 500, turn), turn);
    blocked.prepare(blocking(some_task(paired_functions.at(turn / 4), comm, 50, turn + 1)), turn + 1);
    for (std::size_t i = 0; i < many.size() / 2; ++i) many[i].start(turn + i);
    begun.begin(&request);
    blocked.block();
    MPI_Barrier(comm);
    for (std::size_t i = many.size() / 2; i < many.size(); ++i) many[i].start(turn + i);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    complete(many, turn);
    begun.check("begun among persistent ones");
    blocked.check("blocking, among persistent ones");
  }
  free_all(many);
  MPI_Comm_free(&comm);
}

void all_sorts_of_calls() {
  MPI_Comm comm = dup_of(MPI_COMM_WORLD);
  std::uint64_t seed = 1;
  for (const MpiFunction function : called_functions) {
    for (const Elements& elements : {ints(), doubles()}) {
      for (const Combine how : {Combine::sum, Combine::max, Combine::add, Combine::compose}) {
        if (!is_reduction(collective_of(function)) && how != Combine::sum) continue;
        for (const std::size_t count : {0, 1, 3, 17, 1000, 20000}) {
          for (const bool in_place : {false, true}) {
            for (int root = 0; root < (has_root(collective_of(function)) ? 3 : 1); ++root) {
              const Task task{.function = function,
                              .comm = comm,
                              .count = count,
                              .elements = elements,
                              .how = how,
                              .root = root,
                              .in_place = in_place};
              bool large = false;
#if MPI_VERSION >= 4
              large = seed % 4 == 0;
#endif
              Persistent each(task, large);
              for (int turn = 0; turn < (restarts(function) ? 3 : 1); ++turn) {
                each.start(++seed);
                MPI_Wait(&each.request, MPI_STATUS_IGNORE);
                each.completed("all sorts");
              }
              each.free();
            }
          }
        }
      }
    }
  }
  MPI_Comm_free(&comm);
}

/// No memory is kept for freed calls. Some calls are never started.
void made_and_freed() {
  MPI_Comm comm = dup_of(MPI_COMM_WORLD);
  Many kept = of_called_functions({comm}, 0);
  for (std::size_t number = 0; number < 2000; ++number) {
    const MpiFunction function = paired_functions.at(number % 6);
    Persistent each(some_task(function, comm, number % 50, number));
    const std::size_t turns = restarts(function) ? number % 5 / 2 : number % 2;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      each.start(number + turn);
      MPI_Wait(&each.request, MPI_STATUS_IGNORE);
      each.completed("made and freed");
    }
    each.free();
    if (number % 200 == 0) {
      for (std::size_t i = 0; i < kept.size(); ++i) kept[i].start(number + i);
      complete(kept, number / 200);
    }
  }
  free_all(kept);
  MPI_Comm_free(&comm);
}

/// Communicators come and go, with their own requests, while those of others are used.
void communicators_come_and_go() {
  MPI_Comm lasting = dup_of(MPI_COMM_WORLD);
  Many many = of_called_functions({lasting}, 4);
  for (std::size_t number = 0; number < 20; ++number) {
    for (std::size_t i = 0; i < many.size(); ++i) many[i].start(number * 100 + i);
    MPI_Comm comm{};
    MPI_Comm_split(MPI_COMM_WORLD, 0, number % 2 == 0 ? world_rank() : -world_rank(), &comm);
    Many own = of_called_functions({comm, lasting}, number);
    for (std::size_t i = 0; i < own.size(); ++i) own[i].start(number + i);
    complete(own, number);
    for (const std::size_t i : order(own.size(), number, false)) own[i].free();
    MPI_Comm_free(&comm);
    complete(many, number);
  }
  free_all(many);
  MPI_Comm_free(&lasting);
}

/// With an info object, and with handles in Fortran's form.
void details() {
  MPI_Info info{};
  MPI_Info_create(&info);
  MPI_Info_set(info, "nobody_knows", "this");
  const int one = 1;
  int sum = 0;
  MPI_Request request{};
  CHECK(MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, info, &request) == MPI_SUCCESS);
  MPI_Info_free(&info);
  for (int turn = 0; turn < 3; ++turn) {
    sum = 0;
    auto copy = MPI_Request_f2c(MPI_Request_c2f(request));
    CHECK(copy == request);
    MPI_Start(&copy);
    count_call(MpiFunction::allreduce);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(request == copy && sum == size_of(MPI_COMM_WORLD));
  }
  MPI_Request_free(&request);
}

void mistakes() {
  MPI_Comm comm = dup_of(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  double in = 0;
  double out = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK(error_class(MPI_Bcast_init(&out, -1, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &request)) == MPI_ERR_COUNT);
  CHECK(request == MPI_REQUEST_NULL);
  CHECK(error_class(MPI_Bcast_init(&out, 1, MPI_DOUBLE, -5, comm, MPI_INFO_NULL, &request)) == MPI_ERR_ROOT);
  CHECK(request == MPI_REQUEST_NULL);
  CHECK(error_class(MPI_Reduce_init(&in, &out, 1, MPI_DOUBLE, MPI_OP_NULL, 0, comm, MPI_INFO_NULL,
                                    &request)) == MPI_ERR_OP);
  CHECK(request == MPI_REQUEST_NULL);
  Persistent good(some_task(MpiFunction::allreduce, comm, 10, 0));
  good.start(1);
  MPI_Wait(&good.request, MPI_STATUS_IGNORE);
  good.completed("after mistakes");
  good.free();
  MPI_Comm_free(&comm);
}

void in_threads() {
  MPI_Comm comm = dup_of(MPI_COMM_WORLD);
  Many many;
  std::thread([&] { many = of_called_functions({comm}, 1); }).join();
  for (std::size_t turn = 0; turn < 30; ++turn) {
    std::thread([&] {
      for (std::size_t i = 0; i < many.size(); ++i) many[i].start(turn * 100 + i);
    }).join();
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < many.size(); i += 3) {
          int done = 0;
          while (t == 0 && done == 0) MPI_Test(&many[i].request, &done, MPI_STATUS_IGNORE);
          if (t != 0) MPI_Wait(&many[i].request, MPI_STATUS_IGNORE);
          many[i].completed("threads");
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::thread([&] { free_all(many); }).join();
  MPI_Comm_free(&comm);
}

void types_and_operations_freed() {
  for (std::size_t number = 0; number < 24; ++number) {
    const MpiFunction function = paired_functions.at(number % 6);
    Elements elements = with_gaps(doubles());
    // MPICH 4.0.2's own reduce_scatter_block of elements with gaps only takes commutative operations.
    const Combine how =
        function == MpiFunction::reduce_scatter_block || number < 12 ? Combine::add : Combine::compose;
    MPI_Op op = make_op(how, elements.real);
    Persistent each({.function = function,
                     .comm = MPI_COMM_WORLD,
                     .count = number % 2 == 0 ? std::size_t{20} : std::size_t{20000},
                     .elements = elements,
                     .how = how,
                     .root = static_cast<int>(number % 3),
                     .in_place = number % 5 == 0,
                     .op = op});
    MPI_Type_free(&elements.type);
    MPI_Op_free(&op);
    Elements next = with_gaps(ints());
    MPI_Op next_op = make_op(Combine::add, false);
    for (std::uint64_t turn = 0; turn < (restarts(function) ? 3 : 1); ++turn) {
      each.start(number + turn);
      MPI_Wait(&each.request, MPI_STATUS_IGNORE);
      each.completed("type and operation freed");
    }
    each.free();
    MPI_Type_free(&next.type);
    MPI_Op_free(&next_op);
  }
}

void communicators_freed() {
  for (std::size_t number = 0; number < 10; ++number) {
    MPI_Comm comm = dup_of(MPI_COMM_WORLD);
    Many many = of_called_functions({comm}, number);
    MPI_Comm_free(&comm);
    MPI_Comm next = dup_of(MPI_COMM_WORLD);
    CHECK(counted_sum_right(next, 100));
    for (std::size_t turn = 0; turn < 3; ++turn) {
      for (std::size_t i = 0; i < many.size(); ++i) many[i].start(number + turn + i);
      complete(many, turn);
    }
    free_all(many);
    MPI_Comm_free(&next);
  }
}

void rising() {
  for (const std::size_t count : {1, 17, 1000, 300000}) {
    Persistent each({.function = MpiFunction::reduce_scatter,
                     .comm = MPI_COMM_WORLD,
                     .count = count,
                     .in_place = true,
                     .rising = true});
    for (std::uint64_t turn = 0; turn < 3; ++turn) {
      each.start(turn);
      MPI_Wait(&each.request, MPI_STATUS_IGNORE);
      each.completed("ever larger blocks");
    }
    each.free();
  }
}

void run_part(const std::string& part) {
  if (part == "most") {
    restarted(true);
    if (!leave_out_ways()) inactive();
    started_together();
    among_others();
    all_sorts_of_calls();
    made_and_freed();
    communicators_come_and_go();
    details();
    mistakes();
  } else if (part == "orders") {
    restarted(false);
  } else if (part == "threads") {
    in_threads();
  } else if (part == "freed") {
    types_and_operations_freed();
  } else if (part == "orphans") {
    communicators_freed();
  } else if (part == "rising") {
    rising();
  } else {
    CHECK(false, "no part is called " + part);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> parts = words_of(argc > 1 ? argv[1] : "most");
  const bool has_threads = std::ranges::find(parts, "threads") != parts.end();
  leave_out = argc < 3 || std::string_view(argv[2]) != "everything";
  const int level = has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, level, &provided);
  CHECK(provided >= level);
  for (const std::string& part : parts) {
    begin_step(part);
    run_part(part);
  }
  print_calls();
  MPI_Finalize();
}
