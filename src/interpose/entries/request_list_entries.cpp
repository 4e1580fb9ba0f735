// SPDX-License-Identifier: Apache-2.0
// Functions that complete requests of a list.
#include <algorithm>
#include <optional>

#include "interpose/entries/request_lists.hpp"
#include "interpose/operations/completion.hpp"
#include "interpose/passing/entry.hpp"
#include "interpose/progress/progress.hpp"

namespace stretto {
namespace {

/// All requests of a list. Testing completes nothing unless all can be completed. Waiting completes the
/// library's requests as they come. (MPI_Testall of MPICH 4.0.2 asks a generalized request for its status
/// each time.)
class WholeList {
 public:
  WholeList(int count, void* requests, void* statuses)
      : count_(static_cast<std::size_t>(std::max(count, 0))),
        requests_(Place<MPI_Request>::of_program(requests)),
        list_(count, requests_),
        of_theirs_(list_.theirs.size()),
        is_done_(list_.theirs.size(), false),
        statuses_(statuses) {}

  /// Returns the result of MPI_Testall; empty if not all are done.
  std::optional<int> test() {
    if (!list_.ours_are_done()) return std::nullopt;
    if (!list_.theirs.empty()) {
      int done = 0;
      error_ = mpi.Testall(list_.size_of_theirs(), list_.theirs.data(), &done, of_theirs_.data());
      if (error_ == MPI_SUCCESS && done == 0) return std::nullopt;
      list_.write_back();
      is_done_.assign(is_done_.size(), true);
    }
    return complete_all();
  }

  /// Returns the result of MPI_Waitall; empty if not all are done.
  std::optional<int> poll() {
    if (error_ == MPI_SUCCESS && !take_in_theirs()) return std::nullopt;
    if (!list_.ours_are_done()) return std::nullopt;
    return complete_all();
  }

  /// If the library must wait for some of its requests (operations/requests.hpp), it waits for all of
  /// its own.
  [[nodiscard]] bool library_must_wait() const {
    return std::any_of(list_.theirs.begin(), list_.theirs.end(), must_library_wait_for);
  }
  int wait_by_library() {
    std::optional<AwaitedRequest> awaited;
    if (const Pending* pending = find_awaited()) awaited.emplace(*pending);
    wait_until([&] { return list_.ours_are_done(); });
    const BlockedScope blocked;
    error_ = mpi.Waitall(list_.size_of_theirs(), list_.theirs.data(), of_theirs_.data());
    list_.write_back();
    is_done_.assign(is_done_.size(), true);
    return complete_all();
  }

  [[nodiscard]] bool has_ours() const { return !list_.ours.empty(); }
  [[nodiscard]] const Pending* find_awaited() const { return list_.find_awaited(); }

 private:
  /// Returns whether all of the library's requests are done or one has failed. In that case others may
  /// be pending.
  bool take_in_theirs() {
    if (list_.theirs.empty()) return true;
    int done = 0;
    std::vector<int> which(list_.theirs.size());
    OwnStatuses status(list_.theirs.size());
    error_ = mpi.Testsome(list_.size_of_theirs(), list_.theirs.data(), &done, which.data(), status.data());
    list_.write_back();
    for (std::size_t i = 0; done != mpi.undefined && i < static_cast<std::size_t>(done); ++i) {
      if (error_ == MPI_SUCCESS) set_error(status[i], MPI_SUCCESS);
      copy_status(of_theirs_[static_cast<std::size_t>(which[i])], status[i]);
      is_done_[static_cast<std::size_t>(which[i])] = true;
    }
    return error_ != MPI_SUCCESS || done == mpi.undefined;
  }

  int complete_all() {
    for (std::size_t i = 0; i < count_; ++i) statuses_.set_none(i, MPI_SUCCESS);
    for (std::size_t i = 0; i < is_done_.size(); ++i) {
      if (error_ == MPI_SUCCESS) set_error(of_theirs_[i], MPI_SUCCESS);
      if (is_done_[i]) {
        statuses_.set(list_.indices_of_theirs[i], of_theirs_[i]);
      } else if (error_ != MPI_SUCCESS) {
        statuses_.set_none(list_.indices_of_theirs[i], mpi.err_pending);
      }
    }
    for (const auto& [index, pending] : list_.ours) {
      const int code = complete(requests_[index], *pending, mpi.status_ignore);
      if (code == MPI_SUCCESS) continue;
      statuses_.set_none(index, code);
      error_ = mpi.err_in_status;
    }
    return error_;
  }

  std::size_t count_;
  Place<MPI_Request> requests_;
  RequestList list_;
  OwnStatuses of_theirs_;
  std::vector<bool> is_done_;  // parallel to of_theirs_
  Statuses statuses_;
  int error_ = MPI_SUCCESS;
};

/// One request of a list: its index, or MPI_UNDEFINED if none is active.
class OneOfList {
 public:
  OneOfList(int count, void* requests, int* index, void* status)
      : requests_(Place<MPI_Request>::of_program(requests)),
        list_(count, requests_),
        index_(index),
        status_(static_cast<MPI_Status*>(status)) {}

  std::optional<int> poll() {
    for (const auto& [index, pending] : list_.ours) {
      if (!pending->is_active || !pending->is_done()) continue;
      *index_ = static_cast<int>(index);
      return complete(requests_[index], *pending, status_);
    }
    if (!list_.theirs.empty()) {
      int done = 0;
      int which = mpi.undefined;
      const int error = mpi.Testany(list_.size_of_theirs(), list_.theirs.data(), &which, &done, status_);
      if ((error != MPI_SUCCESS || done != 0) && which != mpi.undefined) {
        *index_ = static_cast<int>(list_.indices_of_theirs[static_cast<std::size_t>(which)]);
        list_.write_back();
        return error;
      }
      if (error != MPI_SUCCESS) return error;
      if (done == 0) return std::nullopt;
    }
    if (list_.any_of_ours_is_active()) return std::nullopt;
    *index_ = mpi.undefined;
    set_empty(status_);
    return MPI_SUCCESS;
  }

  [[nodiscard]] bool has_ours() const { return !list_.ours.empty(); }
  [[nodiscard]] const Pending* find_awaited() const { return list_.find_awaited(); }

 private:
  Place<MPI_Request> requests_;
  RequestList list_;
  int* index_;
  MPI_Status* status_;
};

/// All requests of a list that are done; MPI_UNDEFINED if none is active.
class SomeOfList {
 public:
  SomeOfList(int count, void* requests, int* done, int* indices, void* statuses)
      : requests_(Place<MPI_Request>::of_program(requests)),
        list_(count, requests_),
        done_(done),
        indices_(indices),
        statuses_(statuses) {}

  /// Returns an empty result if none is done, but some are active.
  std::optional<int> poll() {
    int of_theirs = mpi.undefined;
    int error = MPI_SUCCESS;
    std::vector<int> which(list_.theirs.size());
    OwnStatuses status(list_.theirs.size());
    if (!list_.theirs.empty()) {
      error =
          mpi.Testsome(list_.size_of_theirs(), list_.theirs.data(), &of_theirs, which.data(), status.data());
      list_.write_back();
    }
    const bool theirs_are_active = of_theirs != mpi.undefined;
    std::size_t done = 0;
    for (std::size_t i = 0; theirs_are_active && i < static_cast<std::size_t>(of_theirs); ++i) {
      if (error == MPI_SUCCESS) set_error(status[i], MPI_SUCCESS);
      statuses_.set(done, status[i]);
      indices_[done++] = static_cast<int>(list_.indices_of_theirs[static_cast<std::size_t>(which[i])]);
    }
    const bool ours_are_active = list_.any_of_ours_is_active();
    for (const auto& [index, pending] : list_.ours) {
      if (!pending->is_active || !pending->is_done()) continue;
      const int code = complete(requests_[index], *pending, mpi.status_ignore);
      statuses_.set_none(done, code);
      indices_[done++] = static_cast<int>(index);
      if (code != MPI_SUCCESS) error = mpi.err_in_status;
    }
    *done_ = theirs_are_active || ours_are_active ? static_cast<int>(done) : mpi.undefined;
    if (done == 0 && error == MPI_SUCCESS && *done_ != mpi.undefined) return std::nullopt;
    return error;
  }

  [[nodiscard]] bool has_ours() const { return !list_.ours.empty(); }
  [[nodiscard]] const Pending* find_awaited() const { return list_.find_awaited(); }

 private:
  Place<MPI_Request> requests_;
  RequestList list_;
  int* done_;
  int* indices_;
  Statuses statuses_;
};

template <typename List>
int wait_for(List& list) {
  std::optional<AwaitedRequest> awaited;
  if (const Pending* pending = list.find_awaited()) awaited.emplace(*pending);
  std::optional<int> result;
  wait_until([&] {
    result = list.poll();
    return result.has_value();
  });
  return *result;
}

}  // namespace

STRETTO_TAKE_OVER_LIST(Waitall, (int count, void* requests, void* statuses), (count, requests, statuses), {
  WholeList list(count, requests, statuses);
  if (list.library_must_wait()) return list.wait_by_library();
  return list.has_ours() || has_outstanding() ? wait_for(list) : next(count, requests, statuses);
})

STRETTO_TAKE_OVER_LIST(Testall, (int count, void* requests, int* flag, void* statuses),
                       (count, requests, flag, statuses), {
                         make_progress();
                         WholeList list(count, requests, statuses);
                         if (!list.has_ours()) return next(count, requests, flag, statuses);
                         const std::optional<int> result = list.test();
                         *flag = result ? 1 : 0;
                         return result.value_or(MPI_SUCCESS);
                       })

STRETTO_TAKE_OVER_LIST(Waitany, (int count, void* requests, int* index, void* status),
                       (count, requests, index, status), {
                         OneOfList list(count, requests, index, status);
                         return list.has_ours() || has_outstanding() ? wait_for(list)
                                                                     : next(count, requests, index, status);
                       })

STRETTO_TAKE_OVER_LIST(Testany, (int count, void* requests, int* index, int* flag, void* status),
                       (count, requests, index, flag, status), {
                         make_progress();
                         OneOfList list(count, requests, index, status);
                         if (!list.has_ours()) return next(count, requests, index, flag, status);
                         const std::optional<int> result = list.poll();
                         *flag = result ? 1 : 0;
                         if (!result) *index = mpi.undefined;
                         return result.value_or(MPI_SUCCESS);
                       })

STRETTO_TAKE_OVER_LIST(Waitsome, (int count, void* requests, int* done, int* indices, void* statuses),
                       (count, requests, done, indices, statuses), {
                         SomeOfList list(count, requests, done, indices, statuses);
                         return list.has_ours() || has_outstanding()
                                    ? wait_for(list)
                                    : next(count, requests, done, indices, statuses);
                       })

STRETTO_TAKE_OVER_LIST(Testsome, (int count, void* requests, int* done, int* indices, void* statuses),
                       (count, requests, done, indices, statuses), {
                         make_progress();
                         SomeOfList list(count, requests, done, indices, statuses);
                         if (!list.has_ours()) return next(count, requests, done, indices, statuses);
                         return list.poll().value_or(MPI_SUCCESS);
                       })

}  // namespace stretto
