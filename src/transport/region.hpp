// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "threads/maker.hpp"
#include "transport/mailbox.hpp"

namespace stretto {

/// The layout of the memory of one rank. It is the same on all ranks of a node.
struct RegionShape {
  int ranks = 0;                // of the node
  int lanes = 0;                // each pair has one mailbox in each lane
  std::size_t store_bytes = 0;  // for pieces that do not fit into a line

  /// Returns the shape for a node of `ranks` ranks. Mailboxes take some 256 KiB, the store takes
  /// `store_bytes`.
  static RegionShape make(int ranks, std::size_t store_bytes);
  /// Returns the bytes of a rank's store if no setting says otherwise.
  static std::size_t usual_store_bytes(int ranks);

  [[nodiscard]] std::size_t mailbox_offset(int lane, int rank) const;
  [[nodiscard]] std::size_t store_offset() const;
  [[nodiscard]] std::size_t bytes() const { return store_offset() + store_bytes; }
};

/// The beginning of a region.
struct RegionHeader {
  std::uint64_t token = 0;
  /// The lanes in which the owner has given up a call, one bit for each.
  std::atomic<std::uint64_t> given_up{0};
};
static_assert(sizeof(RegionHeader) <= cache_line);

/// Memory without a name, which its owner writes and others read. It is gone when the last process that has
/// it ends, in whatever way.
class Region {
 public:
  Region() = default;
  Region(Region&& other) noexcept { swap(other); }
  Region& operator=(Region&& other) noexcept {
    swap(other);
    return *this;
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region();

  /// Opens a file for a region of this process. Others may be told its number before its size is known. If
  /// this fails, make() returns the reason.
  void open_file();
  /// Makes the region and reserves all of its memory, so that no access fails later. Returns one line with
  /// the reason if it fails, or an empty string; so does map().
  std::string make(std::size_t bytes, std::uint64_t token);
  /// Maps the region that process `pid` has as `file`, for reading only, and checks its token. Its pages
  /// count as this process's memory from when the process first reads them.
  static std::string map(int pid, int file, std::size_t bytes, std::uint64_t token, Region& mapped);
  /// Maps a region whose file this process has itself. `name` is for errors.
  static std::string map(const std::string& name, int file, std::size_t bytes, std::uint64_t token,
                         Region& mapped);
  /// Reads the first `bytes` bytes now, so that no later access is the first one.
  void touch(std::size_t bytes) const;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] RegionHeader& header() const { return *reinterpret_cast<RegionHeader*>(data_); }
  /// The number of the region's file in this process, by which others find it; -1 after close_file().
  [[nodiscard]] int file() const { return file_; }
  /// To be called when all others have mapped it.
  void close_file();

 private:
  void swap(Region& other) noexcept;
  std::string map_here(int file, int protection, int flags);

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  int file_ = -1;
  int open_error_ = 0;
  Maker maker_;
};

}  // namespace stretto
