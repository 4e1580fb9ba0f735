// SPDX-License-Identifier: Apache-2.0
#include "transport/region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "threads/signals_blocked.hpp"
#include "transport/failure.hpp"
#include "transport/kept_file.hpp"

namespace stretto {
namespace {

constexpr std::size_t page = 4096;

}  // namespace

RegionShape RegionShape::make(int ranks, std::size_t store_bytes) {
  constexpr std::size_t most_mailbox_bytes = std::size_t{256} << 10;
  constexpr int most_lanes = 32;
  constexpr int least_lanes = 4;
  RegionShape shape{.ranks = ranks, .lanes = most_lanes, .store_bytes = store_bytes};
  const auto mailbox_bytes = [&] {
    return static_cast<std::size_t>(shape.lanes) * static_cast<std::size_t>(ranks) * sizeof(Mailbox);
  };
  while (shape.lanes > least_lanes && mailbox_bytes() > most_mailbox_bytes) shape.lanes /= 2;
  return shape;
}

/// Returns more than the second-level cache of a core, as PieceStore wants, unless the stores of a node would
/// exceed 64 MiB. Each rank gets at least 512 KiB.
std::size_t RegionShape::usual_store_bytes(int ranks) {
  constexpr std::size_t of_node = std::size_t{64} << 20;
  constexpr std::size_t most = std::size_t{2560} << 10;
  constexpr std::size_t least = std::size_t{512} << 10;
  return std::clamp(of_node / static_cast<std::size_t>(ranks), least, most);
}

std::size_t RegionShape::mailbox_offset(int lane, int rank) const {
  const auto index =
      static_cast<std::size_t>(lane) * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(rank);
  return cache_line + index * sizeof(Mailbox);
}

std::size_t RegionShape::store_offset() const {
  return (mailbox_offset(lanes, 0) + page - 1) / page * page;
}

Region::~Region() {
  if (!maker_.is_this_process()) return;
  close_file();
  if (data_ != nullptr) munmap(data_, bytes_);
}

void Region::swap(Region& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(file_, other.file_);
  std::swap(open_error_, other.open_error_);
  std::swap(maker_, other.maker_);
}

void Region::close_file() {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

/// A child made by fork gets no mapping: its parent's messages are not for it.
std::string Region::map_here(int file, int protection, int flags) {
  void* memory = mmap(nullptr, bytes_, protection, MAP_SHARED | flags, file, 0);
  if (memory == MAP_FAILED) return failure("mmap");
  data_ = static_cast<std::byte*>(memory);
  madvise(data_, bytes_, MADV_DONTFORK);
  return {};
}

void Region::touch(std::size_t bytes) const {
  const volatile std::byte* data = data_;
  for (std::size_t at = 0; at < bytes; at += page) static_cast<void>(data[at]);
}

void Region::open_file() {
  maker_ = Maker::this_process();
  file_ = memfd_create("stretto", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  open_error_ = file_ < 0 ? errno : 0;
}

std::string Region::make(std::size_t bytes, std::uint64_t token) {
  bytes_ = bytes;
  errno = open_error_;
  if (file_ < 0) return failure("memfd_create");
  const std::string no_room = "no room for " + std::to_string(bytes >> 10) + " KiB of shared memory";
  // Past this limit, the kernel would end the process.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) return no_room + ": ulimit -f";
  // Unlike ftruncate, posix_fallocate reserves the memory: if there is too little, it fails, and no later
  // access does. A call that a signal interrupts has reserved nothing, and a timer of the program may come
  // again before the next call ends.
  {
    const SignalsBlocked blocked;
    do {
      errno = posix_fallocate(file_, 0, static_cast<off_t>(bytes));
    } while (errno == EINTR);
  }
  if (errno != 0) return failure(no_room);
  if (std::string error = map_here(file_, PROT_READ | PROT_WRITE, MAP_POPULATE); !error.empty()) return error;
  fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  new (data_) RegionHeader{.token = token};
  return {};
}

std::string Region::map(int pid, int file, std::size_t bytes, std::uint64_t token, Region& mapped) {
  // The kernel lets processes of one user open each other's files here. Opened for reading, the memory cannot
  // be mapped for writing, now or later.
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(file);
  // By now, another file may have that number there, such as a pipe or a terminal.
  const KeptFile file_here(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  return file_here.number() < 0 ? failure(path) : map(path, file_here.number(), bytes, token, mapped);
}

std::string Region::map(const std::string& name, int file, std::size_t bytes, std::uint64_t token,
                        Region& mapped) {
  Region region;
  region.maker_ = Maker::this_process();
  region.bytes_ = bytes;
  struct stat status {};
  if (fstat(file, &status) != 0) return failure(name);
  std::string other = name + " is not the memory of a rank of this job";
  if (status.st_size < static_cast<off_t>(bytes) || !S_ISREG(status.st_mode)) return other;
  if (std::string error = region.map_here(file, PROT_READ, 0); !error.empty()) return error;
  if (region.header().token != token) return other;
  mapped = std::move(region);
  return {};
}

}  // namespace stretto
