// SPDX-License-Identifier: Apache-2.0
// Functions of MPI 4.1 that return the status of requests of a list. (Open MPI 4 and 5 have none of them.)
#include <vector>

#include "interpose/entries/request_lists.hpp"
#include "interpose/passing/entry.hpp"
#include "interpose/progress/progress.hpp"

namespace stretto {
namespace {

/// A list whose status is queried without completing or changing anything. `next` is the library's
/// function for it. It gets the library's requests, since only the library knows whether those are
/// active.
class StatusList {
 public:
  StatusList(int count, const void* requests)
      : count_(static_cast<std::size_t>(count)),
        list_(count, Place<MPI_Request>::of_program(requests)),
        handles_(list_.theirs),
        of_theirs_(list_.theirs.size()) {}

  [[nodiscard]] bool has_ours() const { return !list_.ours.empty(); }

  template <typename Next>
  int all(const Next& next, int* flag, Statuses statuses) {
    *flag = list_.ours_are_done() ? 1 : 0;
    if (*flag == 0) return MPI_SUCCESS;
    int error = MPI_SUCCESS;
    if (!list_.theirs.empty()) error = next(size(), handles(), flag, of_theirs_.data());
    if (error == MPI_SUCCESS && *flag == 0) return error;
    for (std::size_t i = 0; i < count_; ++i) statuses.set_none(i, MPI_SUCCESS);
    for (std::size_t i = 0; i < list_.theirs.size(); ++i)
      set_status(statuses, list_.indices_of_theirs[i], i, error);
    return error;
  }

  template <typename Next>
  int any(const Next& next, int* index, int* flag, MPI_Status* status) {
    *flag = 1;
    for (const auto& [of_ours, pending] : list_.ours) {
      if (!pending->is_active || !pending->is_done()) continue;
      *index = static_cast<int>(of_ours);
      set_empty(status);
      return MPI_SUCCESS;
    }
    int error = MPI_SUCCESS;
    int which = mpi.undefined;
    if (!list_.theirs.empty()) error = next(size(), handles(), &which, flag, status);
    *index = which == mpi.undefined ? which : index_of_theirs(which);
    if (error != MPI_SUCCESS || *flag == 0 || which != mpi.undefined) return error;
    *flag = list_.any_of_ours_is_active() ? 0 : 1;
    set_empty(status);
    return MPI_SUCCESS;
  }

  template <typename Next>
  int some(const Next& next, int* done, int* indices, Statuses statuses) {
    int of_theirs = mpi.undefined;
    int error = MPI_SUCCESS;
    std::vector<int> which(list_.theirs.size());
    if (!list_.theirs.empty()) error = next(size(), handles(), &of_theirs, which.data(), of_theirs_.data());
    const bool any_is_active = of_theirs != mpi.undefined || list_.any_of_ours_is_active();
    std::size_t found = 0;
    for (std::size_t i = 0; of_theirs != mpi.undefined && i < static_cast<std::size_t>(of_theirs); ++i) {
      set_status(statuses, found, i, error);
      indices[found++] = index_of_theirs(which[i]);
    }
    for (const auto& [of_ours, pending] : list_.ours) {
      if (!pending->is_active || !pending->is_done()) continue;
      statuses.set_none(found, MPI_SUCCESS);
      indices[found++] = static_cast<int>(of_ours);
    }
    *done = any_is_active ? static_cast<int>(found) : mpi.undefined;
    return error;
  }

 private:
  [[nodiscard]] int size() const { return list_.size_of_theirs(); }
  [[nodiscard]] const void* handles() const { return handles_.data(); }
  [[nodiscard]] int index_of_theirs(int which) const {
    return static_cast<int>(list_.indices_of_theirs[static_cast<std::size_t>(which)]);
  }
  void set_status(Statuses& statuses, std::size_t place, std::size_t of_theirs, int error) {
    if (error == MPI_SUCCESS) set_error(of_theirs_[of_theirs], MPI_SUCCESS);
    statuses.set(place, of_theirs_[of_theirs]);
  }

  std::size_t count_;
  RequestList list_;
  HandleArray<MPI_Request> handles_;
  OwnStatuses of_theirs_;
};

}  // namespace

STRETTO_TAKE_OVER_LIST(Request_get_status_all, (int count, const void* requests, int* flag, void* statuses),
                       (count, requests, flag, statuses), {
                         make_progress();
                         StatusList list(count, requests);
                         return list.has_ours() ? list.all(next, flag, Statuses(statuses))
                                                : next(count, requests, flag, statuses);
                       })

STRETTO_TAKE_OVER_LIST(Request_get_status_any,
                       (int count, const void* requests, int* index, int* flag, void* status),
                       (count, requests, index, flag, status), {
                         make_progress();
                         StatusList list(count, requests);
                         return list.has_ours()
                                    ? list.any(next, index, flag, static_cast<MPI_Status*>(status))
                                    : next(count, requests, index, flag, status);
                       })

STRETTO_TAKE_OVER_LIST(Request_get_status_some,
                       (int count, const void* requests, int* done, int* indices, void* statuses),
                       (count, requests, done, indices, statuses), {
                         make_progress();
                         StatusList list(count, requests);
                         return list.has_ours() ? list.some(next, done, indices, Statuses(statuses))
                                                : next(count, requests, done, indices, statuses);
                       })

}  // namespace stretto
