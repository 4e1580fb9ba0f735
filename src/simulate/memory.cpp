// SPDX-License-Identifier: Apache-2.0
#include "simulate/memory.hpp"

#include <sys/mman.h>

#include <array>
#include <new>

namespace stretto::simulate {
namespace {

constexpr std::size_t alignment = 64;

/// Returns memory that all ranks, which are one process, share: its content has no meaning, so it needs to
/// exist only once. (SMPI's shared malloc maps the same few pages over and over, and each mapping of each
/// rank has page faults of its own.)
std::byte* shared_memory(BufferRole place, std::size_t bytes) {
  struct Region {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
  };
  static std::array<Region, 2> regions;
  Region& region = regions.at(place == BufferRole::input ? 0 : 1);
  if (region.bytes < bytes) {
    void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    ::madvise(mapped, bytes, MADV_HUGEPAGE);
    // The smaller region is kept, because another rank may still use it.
    region = {static_cast<std::byte*>(mapped), bytes};
  }
  return region.memory;
}

}  // namespace

Buffer::Buffer(BufferRole place, std::size_t bytes, Data data)
    : memory_(data == Data::none
                  ? shared_memory(place, bytes)
                  : static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{alignment}))),
      data_(data) {}

Buffer::~Buffer() {
  if (data_ == Data::real) ::operator delete[](memory_, std::align_val_t{alignment});
}

}  // namespace stretto::simulate
