// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/messages/transport.hpp"
#include "mpi/status.hpp"

namespace stretto {

/// The messages of the MPI library. If all calls are the same, its requests of long messages are kept, and
/// started again.
class LibraryTransport final : public Transport {
 public:
  /// `comm` is Stretto's own and returns errors.
  explicit LibraryTransport(MPI_Comm comm) : comm_(comm) {}
  ~LibraryTransport() override;

  void begin(std::size_t slots, const Element& element) override;
  void keep(std::size_t messages) override;
  bool post(const Posting& posting, std::size_t slot, int& error) override;
  int test(std::size_t slots, std::vector<Completed>& completed) override;
  void take_back() override {}
  [[nodiscard]] bool takes_back() const override { return false; }
  [[nodiscard]] bool is_pending(std::size_t slot) const override {
    return requests_[slot] != mpi.request_null;
  }
  /// The library reports errors of a datatype on `comm`. If no message is posted, an error would first show
  /// in MPI_Reduce_local, which calls the handler of MPI_COMM_WORLD.
  int check(const Element& element) override;
  void drive() override;

 private:
  [[nodiscard]] int post_once(const Posting& posting, MPI_Request* request) const;
  int post_kept(const Posting& posting, MPI_Request* kept, MPI_Request* request) const;
  [[nodiscard]] Completed take(std::size_t slot, const MPI_Status* status, bool tells_error);

  MPI_Comm comm_;
  const Element* element_ = nullptr;
  std::vector<MPI_Request> requests_;     // of each slot
  std::vector<MPI_Request*> kept_of_;     // of each slot; nullptr: its request is not a kept one
  std::vector<std::uint8_t> is_counted_;  // of each slot: whether it is known how many elements have come
  std::vector<int> indices_;              // of messages that have completed
  OwnStatuses statuses_;                  // parallel to indices_
  std::vector<MPI_Request> kept_;
};

}  // namespace stretto
