// SPDX-License-Identifier: Apache-2.0
// Functions that examine requests and complete none of them, and null pointers in place of requests.
//
//   request_status library | session | own | null
//
//   library    a program that makes no collective
//   session    the same without MPI_Init
//   own        collectives of Stretto's among the library's requests
//   null       the library reports the error
//
// MPI_Request_get_status_any and its kin are MPI's since 4.1, MPIX_Request_is_complete is MPICH's. Where the
// library has none, they are errors.
#include <array>
#include <vector>

#include "check.hpp"
#include "each.hpp"

namespace {

using All = int (*)(int, const MPI_Request*, int*, MPI_Status*);
using Any = int (*)(int, const MPI_Request*, int*, int*, MPI_Status*);
using Some = int (*)(int, const MPI_Request*, int*, int*, MPI_Status*);
using IsComplete = int (*)(MPI_Request);

template <typename Function>
Function find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}
const auto get_status_all = find<All>("MPI_Request_get_status_all");
const auto get_status_any = find<Any>("MPI_Request_get_status_any");
const auto get_status_some = find<Some>("MPI_Request_get_status_some");
const auto is_complete = find<IsComplete>("MPIX_Request_is_complete");

/// Whether the library has these functions: older ones lack those of MPI 4.1.
bool library_has(const char* name) {
  for (const char* file : {"libmpi.so.12", "libmpich.so.12", "libmpi.so.40"}) {
    void* library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
    if (library != nullptr && dlsym(library, name) != nullptr) return true;
  }
  return false;
}

constexpr int tag = 7;
constexpr int at = 5;  // a value that no call gives

bool is_empty(const MPI_Status& status) {
  int count = -1;
  MPI_Get_count(&status, MPI_INT, &count);
  return status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && count == 0;
}

/// Checks the results of all three functions for requests. `done`: the complete ones among the active.
class Looks {
 public:
  explicit Looks(std::vector<MPI_Request> requests) : requests_(std::move(requests)) {}

  void expect(const std::vector<int>& done, bool all_done, bool any_active, const std::string& what) const {
    const std::vector<MPI_Request> before = requests_;
    const int count = static_cast<int>(requests_.size());
    std::vector<MPI_Status> statuses(requests_.size());
    int flag = at;
    CHECK(get_status_all(count, requests_.data(), &flag, statuses.data()) == MPI_SUCCESS, what);
    CHECK(flag == (all_done ? 1 : 0), what);
    for (int i = 0; all_done && i < count; ++i) expect_status(statuses, i, i, what);
    flag = at;
    CHECK(get_status_all(count, requests_.data(), &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS, what);
    CHECK(flag == (all_done ? 1 : 0), what);

    int index = at;
    flag = at;
    CHECK(get_status_any(count, requests_.data(), &index, &flag, statuses.data()) == MPI_SUCCESS, what);
    CHECK(flag == (done.empty() && any_active ? 0 : 1), what);
    CHECK(done.empty() ? index == MPI_UNDEFINED : contains(done, index), what + std::to_string(index));
    if (!done.empty()) expect_status(statuses, 0, index, what);
    if (!any_active) CHECK(is_empty(statuses[0]), what);

    int found = at;
    std::vector<int> indices(requests_.size(), at);
    CHECK(get_status_some(count, requests_.data(), &found, indices.data(), statuses.data()) == MPI_SUCCESS,
          what);
    CHECK(found == (any_active ? static_cast<int>(done.size()) : MPI_UNDEFINED), what);
    for (int i = 0; any_active && i < found; ++i) {
      CHECK(contains(done, indices[static_cast<std::size_t>(i)]), what);
      expect_status(statuses, i, indices[static_cast<std::size_t>(i)], what);
    }
    CHECK(requests_ == before, what);
  }

  /// The request whose status describes a received message.
  int receive = -1;

 private:
  static bool contains(const std::vector<int>& list, int wanted) {
    for (const int one : list) {
      if (one == wanted) return true;
    }
    return false;
  }
  void expect_status(const std::vector<MPI_Status>& statuses, int place, int of,
                     const std::string& what) const {
    if (of != receive) return;
    CHECK(statuses[static_cast<std::size_t>(place)].MPI_SOURCE == 0, what);
    CHECK(statuses[static_cast<std::size_t>(place)].MPI_TAG == tag, what);
  }

  std::vector<MPI_Request> requests_;
};

/// `self`: a communicator of this rank only.
void of_library(MPI_Comm self) {
  int sent = 3;
  int received = 0;
  MPI_Request inactive = MPI_REQUEST_NULL;
  MPI_Send_init(&sent, 1, MPI_INT, 0, tag + 1, self, &inactive);
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Irecv(&received, 1, MPI_INT, 0, tag, self, &receive);
  if (is_complete != nullptr) CHECK(is_complete(receive) == 0);
  Looks looks({MPI_REQUEST_NULL, inactive, receive});
  looks.receive = 2;
  if (library_has("MPI_Request_get_status_any")) looks.expect({}, false, true, "not yet");
  MPI_Send(&sent, 1, MPI_INT, 0, tag, self);
  int flag = 0;
  while (flag == 0) MPI_Request_get_status(receive, &flag, MPI_STATUS_IGNORE);
  if (is_complete != nullptr) CHECK(is_complete(receive) != 0);
  if (library_has("MPI_Request_get_status_any")) looks.expect({2}, true, true, "received");
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  CHECK(received == sent);
  if (library_has("MPI_Request_get_status_any")) {
    Looks({MPI_REQUEST_NULL, inactive}).expect({}, true, false, "inactive");
    Looks({MPI_REQUEST_NULL}).expect({}, true, false, "null");
  }
  MPI_Request_free(&inactive);
}

/// For libraries that lack it.
void refused() {
  MPI_Request none = MPI_REQUEST_NULL;
  int index = 0;
  int flag = 0;
  MPI_Status status{};
  for (const Any missing : {get_status_any, get_status_some}) {
    if (missing == nullptr) continue;
    CHECK(error_class(missing(1, &none, &index, &flag, &status)) == MPI_ERR_UNSUPPORTED_OPERATION);
  }
  if (get_status_all == nullptr) return;
  CHECK(error_class(get_status_all(1, &none, &flag, &status)) == MPI_ERR_UNSUPPORTED_OPERATION);
}

void session() {
#if MPI_VERSION >= 4
  MPI_Session session = MPI_SESSION_NULL;
  CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  MPI_Comm self = MPI_COMM_NULL;
  MPI_Comm_create_from_group(group, "request_status", MPI_INFO_NULL, MPI_ERRORS_RETURN, &self);
  of_library(self);
  MPI_Comm_free(&self);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
#endif
}

/// Rank 0 starts before the others may.
void own() {
  const bool is_first = world_rank() == 0;
  int go = 1;
  int received = 0;
  constexpr int count = 3000;
  std::vector<int> mine(count, world_rank() + 1);
  std::vector<int> sum(count);
  MPI_Request sum_request = MPI_REQUEST_NULL;
  if (!is_first) MPI_Recv(&go, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Iallreduce(mine.data(), sum.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &sum_request);
  if (is_first) {
    MPI_Request inactive = MPI_REQUEST_NULL;
    MPI_Send_init(&go, 1, MPI_INT, 0, tag + 1, MPI_COMM_SELF, &inactive);
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Irecv(&received, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &receive);
    Looks alone({inactive, sum_request});
    Looks both({inactive, sum_request, MPI_REQUEST_NULL, receive});
    both.receive = 3;
    const bool has = library_has("MPI_Request_get_status_any");
    if (is_complete != nullptr) CHECK(is_complete(sum_request) == 0);
    if (has) alone.expect({}, false, true, "started");
    if (has) both.expect({}, false, true, "both started");
    MPI_Send(&go, 1, MPI_INT, 0, tag, MPI_COMM_SELF);
    int flag = 0;
    while (flag == 0) MPI_Request_get_status(receive, &flag, MPI_STATUS_IGNORE);
    if (has) alone.expect({}, false, true, "still");
    if (has) both.expect({3}, false, true, "received");
    for (int rank = 1; rank < size_of(MPI_COMM_WORLD); ++rank)
      MPI_Send(&go, 1, MPI_INT, rank, tag, MPI_COMM_WORLD);
    // Polling must be enough for it to end.
    if (has) {
      const std::array<MPI_Request, 1> one{sum_request};
      for (int index = MPI_UNDEFINED; index != 0;)
        get_status_any(1, one.data(), &index, &flag, MPI_STATUS_IGNORE);
    } else if (is_complete != nullptr) {
      while (is_complete(sum_request) == 0) continue;
    } else {
      for (flag = 0; flag == 0;) MPI_Request_get_status(sum_request, &flag, MPI_STATUS_IGNORE);
    }
    if (is_complete != nullptr) CHECK(is_complete(sum_request) != 0);
    if (has) alone.expect({1}, true, true, "summed");
    if (has) both.expect({1, 3}, true, true, "both");
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Request_free(&inactive);
  }
  MPI_Wait(&sum_request, MPI_STATUS_IGNORE);
  const int ranks = size_of(MPI_COMM_WORLD);
  CHECK(sum == std::vector<int>(count, ranks * (ranks + 1) / 2));
}

void null_of_library() {
  int flag = 0;
  int index = 0;
  std::array<int, 2> indices{};
  MPI_Status* ignored = MPI_STATUS_IGNORE;
  MPI_Status* all_ignored = MPI_STATUSES_IGNORE;
  CHECK(MPI_Request_free(nullptr) != MPI_SUCCESS);
  CHECK(MPI_Wait(nullptr, ignored) != MPI_SUCCESS);
  CHECK(MPI_Test(nullptr, &flag, ignored) != MPI_SUCCESS);
  CHECK(MPI_Start(nullptr) != MPI_SUCCESS);
  CHECK(MPI_Startall(2, nullptr) != MPI_SUCCESS);
  CHECK(MPI_Waitall(2, nullptr, all_ignored) != MPI_SUCCESS);
  CHECK(MPI_Testall(2, nullptr, &flag, all_ignored) != MPI_SUCCESS);
  CHECK(MPI_Waitany(2, nullptr, &index, ignored) != MPI_SUCCESS);
  CHECK(MPI_Testany(2, nullptr, &index, &flag, ignored) != MPI_SUCCESS);
  CHECK(MPI_Waitsome(2, nullptr, &index, indices.data(), all_ignored) != MPI_SUCCESS);
  CHECK(MPI_Testsome(2, nullptr, &index, indices.data(), all_ignored) != MPI_SUCCESS);
  CHECK(MPI_Waitall(-1, nullptr, all_ignored) != MPI_SUCCESS);
}

/// While nothing of Stretto is in flight, and while something is.
void null() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (!library_has("MPI_Request_get_status_any")) refused();
  null_of_library();
  int mine = 1;
  int sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (world_rank() != 0) MPI_Recv(nullptr, 0, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  if (world_rank() == 0) {
    null_of_library();
    for (int rank = 1; rank < size_of(MPI_COMM_WORLD); ++rank)
      MPI_Send(nullptr, 0, MPI_INT, rank, tag, MPI_COMM_WORLD);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(sum == size_of(MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  if (part == "session") {
    session();
    std::puts("right");
    return 0;
  }
  MPI_Init(&argc, &argv);
  for (const std::string& one : words_of(part)) {
    begin_step(one);
    if (one == "library") {
      of_library(MPI_COMM_SELF);
    } else if (one == "own") {
      own();
    } else if (one == "null") {
      null();
    } else {
      CHECK(false, "no such part: " + one);
    }
  }
  if (world_rank() == 0) std::puts("right");
  MPI_Finalize();
  return 0;
}
