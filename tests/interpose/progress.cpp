// SPDX-License-Identifier: Apache-2.0
// Legal programs that hang if a rank that is blocked in one MPI call does not progress its outstanding
// collectives, or if the start of a collective waits for other ranks.
//
//   progress BLOCKS KIND [late]
//
// BLOCKS is a list: "send,recv". For each BLOCK of it:
//
//   even ranks: start, wait, BLOCK     odd ranks: start, BLOCK, wait      the evens' wait needs the odds in
//   BLOCK even ranks: start, BLOCK, wait     odd ranks: BLOCK, start, wait      late: the start must be local
//
// KIND is a collective or `all`. The ranks 2i and 2i+1 block on each other. If BLOCK is between pairs, a last
// rank without a partner does not block.
#include <dlfcn.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <thread>
#include <utility>

#include "check.hpp"
#include "collectives.hpp"
#include "each.hpp"

namespace {

/// Looked up at run time, since Stretto does not raise the thread level of a program that refers to
/// MPI_Win_create if the library may then refuse windows (Open MPI 4 over TCP).
MPI_Win expose(int& number) {
  auto* const create = reinterpret_cast<decltype(&MPI_Win_create)>(dlsym(RTLD_DEFAULT, "MPI_Win_create"));
  MPI_Win made{};
  create(&number, sizeof(number), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
  return made;
}

MPI_Comm other = MPI_COMM_NULL;  // for blocking calls that must not match the outstanding ones
MPI_Win window = MPI_WIN_NULL;
int message = 0;  // a number that the odd rank waits for

bool odd() {
  return world_rank() % 2 == 1;
}
int partner() {
  return world_rank() ^ 1;
}
bool alone() {
  return partner() >= size_of(MPI_COMM_WORLD);
}

void send() {
  const int number = ++message;
  MPI_Send(&number, 1, MPI_INT, partner(), 5, MPI_COMM_WORLD);
}

/// The messages that odd ranks receive from even ranks, in various ways.
class Awaited {
 public:
  int number = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status{};

  Awaited() { ++message; }
  void begin() { MPI_Irecv(&number, 1, MPI_INT, partner(), 5, MPI_COMM_WORLD, &request); }
  void check() const {
    CHECK(number == message, "received " + std::to_string(number) + ", not " + std::to_string(message));
    CHECK(request == MPI_REQUEST_NULL);
    CHECK(status.MPI_SOURCE == partner() && status.MPI_TAG == 5);
  }
};

/// The even ranks send. The odd ones receive in various ways.
void between_pairs(const std::function<void(Awaited&)>& receive) {
  if (alone()) return;
  if (!odd()) {
    send();
    return;
  }
  Awaited awaited;
  receive(awaited);
  awaited.check();
}

void recv(Awaited& awaited) {
  MPI_Recv(&awaited.number, 1, MPI_INT, partner(), 5, MPI_COMM_WORLD, &awaited.status);
}
void probe(Awaited& awaited) {
  MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &awaited.status);
  recv(awaited);
}
void mprobe(Awaited& awaited) {
  MPI_Message matched{};
  MPI_Mprobe(partner(), MPI_ANY_TAG, MPI_COMM_WORLD, &matched, &awaited.status);
  MPI_Mrecv(&awaited.number, 1, MPI_INT, &matched, &awaited.status);
}
void iprobe(Awaited& awaited) {
  int found = 0;
  while (found == 0) MPI_Iprobe(partner(), 5, MPI_COMM_WORLD, &found, &awaited.status);
  recv(awaited);
}
void improbe(Awaited& awaited) {
  MPI_Message matched{};
  int found = 0;
  while (found == 0) MPI_Improbe(partner(), 5, MPI_COMM_WORLD, &found, &matched, &awaited.status);
  MPI_Imrecv(&awaited.number, 1, MPI_INT, &matched, &awaited.request);
  MPI_Wait(&awaited.request, &awaited.status);
}
void wait(Awaited& awaited) {
  awaited.begin();
  MPI_Wait(&awaited.request, &awaited.status);
}
void waitall(Awaited& awaited) {
  awaited.begin();
  std::array requests{MPI_REQUEST_NULL, awaited.request};
  std::array<MPI_Status, 2> statuses{};
  MPI_Waitall(2, requests.data(), statuses.data());
  awaited.request = requests[1];
  awaited.status = statuses[1];
}
void waitany(Awaited& awaited) {
  awaited.begin();
  std::array requests{MPI_REQUEST_NULL, awaited.request};
  int index = -1;
  MPI_Waitany(2, requests.data(), &index, &awaited.status);
  CHECK(index == 1);
  awaited.request = requests[1];
}
void waitsome(Awaited& awaited) {
  awaited.begin();
  std::array requests{MPI_REQUEST_NULL, awaited.request};
  std::array indices{-1, -1};
  std::array<MPI_Status, 2> statuses{};
  int count = 0;
  MPI_Waitsome(2, requests.data(), &count, indices.data(), statuses.data());
  CHECK(count == 1 && indices[0] == 1);
  awaited.request = requests[1];
  awaited.status = statuses[0];
}
void test(Awaited& awaited) {
  awaited.begin();
  int done = 0;
  while (done == 0) MPI_Test(&awaited.request, &done, &awaited.status);
}
void testall(Awaited& awaited) {
  awaited.begin();
  std::array requests{MPI_REQUEST_NULL, awaited.request};
  std::array<MPI_Status, 2> statuses{};
  int done = 0;
  while (done == 0) MPI_Testall(2, requests.data(), &done, statuses.data());
  awaited.request = requests[1];
  awaited.status = statuses[1];
}
void testany(Awaited& awaited) {
  awaited.begin();
  std::array requests{MPI_REQUEST_NULL, awaited.request};
  int index = -1;
  int done = 0;
  while (done == 0) MPI_Testany(2, requests.data(), &index, &done, &awaited.status);
  CHECK(index == 1);
  awaited.request = requests[1];
}
void testsome(Awaited& awaited) {
  awaited.begin();
  std::array requests{MPI_REQUEST_NULL, awaited.request};
  std::array indices{-1, -1};
  std::array<MPI_Status, 2> statuses{};
  int count = 0;
  while (count == 0) MPI_Testsome(2, requests.data(), &count, indices.data(), statuses.data());
  CHECK(count == 1 && indices[0] == 1);
  awaited.request = requests[1];
  awaited.status = statuses[0];
}
void get_status(Awaited& awaited) {
  awaited.begin();
  int done = 0;
  while (done == 0) MPI_Request_get_status(awaited.request, &done, MPI_STATUS_IGNORE);
  MPI_Wait(&awaited.request, &awaited.status);
}
void persistent(Awaited& awaited) {
  MPI_Recv_init(&awaited.number, 1, MPI_INT, partner(), 5, MPI_COMM_WORLD, &awaited.request);
  MPI_Start(&awaited.request);
  MPI_Wait(&awaited.request, &awaited.status);
  MPI_Request_free(&awaited.request);
}
/// The thread that started the collective is in no MPI call while this one waits.
void in_another_thread(Awaited& awaited) {
  std::thread(recv, std::ref(awaited)).join();
}

/// The odd ranks send, and can continue only when the message has been received.
void ssend(bool wait_for_it) {
  if (alone()) return;
  int number = ++message;
  if (odd() && !wait_for_it) {
    MPI_Ssend(&number, 1, MPI_INT, partner(), 6, MPI_COMM_WORLD);
  } else if (odd()) {
    MPI_Request request{};
    MPI_Issend(&number, 1, MPI_INT, partner(), 6, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&number, 1, MPI_INT, partner(), 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(number == message);
  }
}

void sendrecv(bool replace) {
  if (alone()) return;
  const int mine = world_rank();
  int number = mine;
  if (replace) {
    MPI_Sendrecv_replace(&number, 1, MPI_INT, partner(), 7, partner(), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Sendrecv(&mine, 1, MPI_INT, partner(), 7, &number, 1, MPI_INT, partner(), 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  CHECK(number == partner());
}

/// Collectives that the library carries out, one after the other. Collectives with a root block if an odd
/// rank is the root or waits for it.
void native() {
  static int turn = 0;
  const int ranks = size_of(MPI_COMM_WORLD);
  const int rank = world_rank();
  const int root = 1;
  const std::vector<int> mine(static_cast<std::size_t>(ranks), rank);
  std::vector<int> all(static_cast<std::size_t>(ranks), -1);
  std::vector<int> ranks_in_order(static_cast<std::size_t>(ranks));
  std::iota(ranks_in_order.begin(), ranks_in_order.end(), 0);
  int sum = rank;
  switch (++turn % 7) {
    case 0:
      MPI_Alltoall(mine.data(), 1, MPI_INT, all.data(), 1, MPI_INT, other);
      CHECK(all == ranks_in_order);
      break;
    case 1:
      MPI_Gather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, root, other);
      CHECK(rank != root || all == ranks_in_order);
      break;
    case 2:
      MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, other);
      CHECK(sum == rank * (rank + 1) / 2);
      break;
    case 3:
      MPI_Exscan(&rank, &sum, 1, MPI_INT, MPI_SUM, other);
      CHECK(sum == rank * (rank - 1) / 2);
      break;
    case 4:
      MPI_Scatter(ranks_in_order.data(), 1, MPI_INT, &sum, 1, MPI_INT, 0, other);
      CHECK(sum == rank);
      break;
    case 5: {
      const std::vector<int> ones(static_cast<std::size_t>(ranks), 1);
      MPI_Allgatherv(&rank, 1, MPI_INT, all.data(), ones.data(), ranks_in_order.data(), MPI_INT, other);
      CHECK(all == ranks_in_order);
      break;
    }
    default: {
      MPI_Request request{};
      MPI_Ialltoall(mine.data(), 1, MPI_INT, all.data(), 1, MPI_INT, other, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(all == ranks_in_order);
      break;
    }
  }
}

void ibarrier() {
  MPI_Request request{};
  MPI_Ibarrier(other, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
void dup() {
  MPI_Comm comm{};
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_free(&comm);
}
void split() {
  MPI_Comm comm{};
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() / 2, 0, &comm);
  CHECK(size_of(comm) <= 2);
  MPI_Comm_free(&comm);
}
/// A collective on a communicator without any earlier collective.
void first_allreduce() {
  MPI_Comm comm{};
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank(), &comm);
  CHECK(counted_sum_right(comm, 1000));
  MPI_Comm_free(&comm);
}
void make_window() {
  int number = 0;
  MPI_Win made = expose(number);
  MPI_Win_free(&made);
}

std::vector<std::pair<std::string, std::function<void()>>> all_blocks() {
  std::vector<std::pair<std::string, std::function<void()>>> blocks{
      {"barrier", [] { MPI_Barrier(other); }},
      {"send", [] { ssend(false); }},
      {"issend", [] { ssend(true); }},
      {"sendrecv", [] { sendrecv(false); }},
      {"sendrecv_replace", [] { sendrecv(true); }},
      {"fence", [] { MPI_Win_fence(0, window); }},
      {"window", make_window},
      {"native", native},
      {"allreduce", [] { CHECK(counted_sum_right(other, 1000)); }},
      {"first_allreduce", first_allreduce},
      {"ibarrier", ibarrier},
      {"dup", dup},
      {"split", split},
  };
  const std::pair<const char*, void (*)(Awaited&)> ways[]{
      {"recv", recv},
      {"probe", probe},
      {"mprobe", mprobe},
      {"iprobe", iprobe},
      {"improbe", improbe},
      {"wait", wait},
      {"waitall", waitall},
      {"waitany", waitany},
      {"waitsome", waitsome},
      {"test", test},
      {"testall", testall},
      {"testany", testany},
      {"testsome", testsome},
      {"status", get_status},
      {"persistent", persistent},
      {"thread", in_another_thread},
  };
  for (const auto& [name, way] : ways) {
    blocks.emplace_back(name, [way = way] { between_pairs(way); });
  }
  return blocks;
}

void once(const std::function<void()>& block, bool late, const Task& task, std::uint64_t seed) {
  Call call;
  call.prepare(task, seed);
  MPI_Request request = MPI_REQUEST_NULL;
  const auto start = [&] {
    CHECK(call.begin(&request) == MPI_SUCCESS);
    CHECK(request != MPI_REQUEST_NULL);
  };
  const auto finish = [&] {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(request == MPI_REQUEST_NULL);
    call.check("waited for");
  };
  if (late ? odd() : false) {
    block();
    start();
    finish();
  } else if (late || odd()) {
    start();
    block();
    finish();
  } else {
    start();
    finish();
    block();
  }
}

/// An outstanding collective on one communicator and a blocking one on another, in opposite order; then two
/// outstanding collectives. The communicators are new, so these include first calls.
void in_opposite_order(Task task, std::uint64_t seed) {
  MPI_Comm first{};
  MPI_Comm second{};
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank(), &second);
  Call outstanding;
  Call blocking_one;
  MPI_Request request{};
  task.comm = first;
  outstanding.prepare(task, seed);
  task.comm = second;
  blocking_one.prepare(blocking(task), seed + 1);
  if (odd()) blocking_one.block();
  outstanding.begin(&request);
  if (!odd()) blocking_one.block();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  outstanding.check("outstanding");
  blocking_one.check("blocking, meanwhile");
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);

  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  std::array<Call, 2> calls;
  std::array<MPI_Request, 2> requests{};
  task.comm = first;
  calls[0].prepare(task, seed + 2);
  task.comm = second;
  calls[1].prepare(task, seed + 3);
  const std::size_t begun_first = odd() ? 1 : 0;
  calls.at(begun_first).begin(&requests.at(begun_first));
  calls.at(1 - begun_first).begin(&requests.at(1 - begun_first));
  // They are also waited for in the order in which the other ranks have begun them.
  MPI_Wait(&requests.at(1 - begun_first), MPI_STATUS_IGNORE);
  MPI_Wait(&requests.at(begun_first), MPI_STATUS_IGNORE);
  for (const Call& call : calls) call.check("two outstanding");
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);
}

void run_block(const std::string& block_name, const std::string& function_name, bool late) {
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  int exposed = 0;
  if (block_name == "fence") {
    window = expose(exposed);
  }

  std::function<void()> block;
  for (const auto& [name, function] : all_blocks()) {
    if (name == block_name) block = function;
  }
  const bool order = block_name == "order";
  CHECK(block || order, "no way to block is called " + block_name);
  std::uint64_t seed = 1;
  for (const MpiFunction function : functions_named(function_name)) {
    for (const std::size_t count : {1, 1000, 300000}) {
      for (const bool in_place : {false, true}) {
        // Late starts use a communicator without any earlier call.
        MPI_Comm comm{};
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (const int root : {0, 1}) {
          for (int turn = 0; turn < (count > 1000 ? 1 : 2); ++turn) {
            const Task task{
                .function = function, .comm = comm, .count = count, .root = root, .in_place = in_place};
            if (order) {
              in_opposite_order(task, seed);
            } else {
              once(block, late, task, seed);
            }
            seed += 10;
          }
          if (root == 0) {
            MPI_Comm_free(&comm);
            MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank(), &comm);
          }
        }
        MPI_Comm_free(&comm);
      }
    }
  }
  if (window != MPI_WIN_NULL) MPI_Win_free(&window);
  MPI_Comm_free(&other);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> blocks = words_of(argc > 1 ? argv[1] : "barrier");
  const std::string function_name = argc > 2 ? argv[2] : "all";
  const bool late = argc > 3 && std::string_view(argv[3]) == "late";
  const bool has_threads = std::ranges::find(blocks, "thread") != blocks.end();
  const int level = has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, level, &provided);
  CHECK(provided >= level);
  for (const std::string& block : blocks) {
    begin_step(block);
    run_block(block, function_name, late);
  }
  print_calls();
  MPI_Finalize();
}
