// SPDX-License-Identifier: Apache-2.0
// Datatypes of one signature with different layouts in memory, and buffers of them that know which bytes
// are data. Values are passed between layouts in compact form: the bytes of the parts, one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"

enum class Kind { integer, f32, f64 };
struct Part {
  Kind kind;
  std::ptrdiff_t offset;
  std::size_t bytes;
};

struct Layout {
  std::string name;
  MPI_Datatype handle;
  std::vector<Part> parts;
  std::ptrdiff_t extent;
  int units = 1;  // of `handle` in one element

  [[nodiscard]] std::size_t compact_bytes() const {
    std::size_t bytes = 0;
    for (const Part& part : parts) bytes += part.bytes;
    return bytes;
  }
};

/// The layouts of one signature. The first one is the simplest.
struct Family {
  std::string name;
  bool predefined;
  std::vector<Layout> layouts;
};

inline constexpr char sentinel = '\x5a';

/// Elements of a layout with room around them. `shift` moves them to an odd address.
class Buffer {
 public:
  Buffer(const Layout& layout, std::size_t count, std::size_t shift) : layout_(&layout), count_(count) {
    std::ptrdiff_t lowest = 0;
    std::ptrdiff_t highest = 0;
    const std::ptrdiff_t last = count == 0 ? 0 : static_cast<std::ptrdiff_t>(count - 1) * layout.extent;
    for (const Part& part : layout.parts) {
      lowest = std::min(lowest, part.offset + std::min<std::ptrdiff_t>(last, 0));
      highest = std::max(highest, part.offset + std::max<std::ptrdiff_t>(last, 0) + std::ptrdiff_t{16});
    }
    origin_ = margin + (static_cast<std::size_t>(-lowest) + 15) / 16 * 16 + shift;
    memory_.assign(origin_ + static_cast<std::size_t>(highest) + margin, sentinel);
  }

  [[nodiscard]] char* address() { return memory_.data() + origin_; }

  void load(const std::vector<char>& compact, std::size_t first, std::size_t count) {
    const char* from = compact.data();
    for (std::size_t i = first; i < first + count; ++i) {
      for (const Part& part : layout_->parts) {
        std::memcpy(at(i, part), from, part.bytes);
        from += part.bytes;
      }
    }
  }

  [[nodiscard]] std::vector<char> unload(std::size_t first, std::size_t count) {
    std::vector<char> compact(count * layout_->compact_bytes());
    char* into = compact.data();
    for (std::size_t i = first; i < first + count; ++i) {
      for (const Part& part : layout_->parts) {
        std::memcpy(into, at(i, part), part.bytes);
        into += part.bytes;
      }
    }
    return compact;
  }

  [[nodiscard]] const std::vector<char>& memory() const { return memory_; }

  /// Returns whether the memory around all elements is unchanged.
  [[nodiscard]] bool surroundings_untouched() const {
    const auto untouched = [](char c) { return c == sentinel; };
    return std::all_of(memory_.begin(), memory_.begin() + margin, untouched) &&
           std::all_of(memory_.end() - margin, memory_.end(), untouched);
  }

  /// Returns whether all that is not data is unchanged, including gaps. Forgets the data.
  [[nodiscard]] bool gaps_untouched() {
    for (std::size_t i = 0; i < count_; ++i) {
      for (const Part& part : layout_->parts) std::memset(at(i, part), sentinel, part.bytes);
    }
    return std::all_of(memory_.begin(), memory_.end(), [](char c) { return c == sentinel; });
  }

 private:
  static constexpr std::ptrdiff_t margin = 64;

  [[nodiscard]] char* at(std::size_t i, const Part& part) {
    return address() + static_cast<std::ptrdiff_t>(i) * layout_->extent + part.offset;
  }

  const Layout* layout_;
  std::size_t count_;
  std::size_t origin_ = 0;
  std::vector<char> memory_;
};

/// Blocks at any places in memory. It is known of each byte whether it belongs to one.
class Room {
 public:
  struct Block {
    const Layout* layout = nullptr;
    std::size_t count = 0;
    std::ptrdiff_t offset = 0;  // of its first element, from address()
  };

  void assign(std::vector<Block> blocks, std::size_t shift) {
    blocks_ = std::move(blocks);
    std::ptrdiff_t lowest = 0;
    std::ptrdiff_t highest = 0;
    for (const Block& block : blocks_) {
      const auto [low, high] = span(*block.layout, block.count);
      lowest = std::min(lowest, block.offset + low);
      highest = std::max(highest, block.offset + high);
    }
    origin_ = margin + (static_cast<std::size_t>(-lowest) + 15) / 16 * 16 + shift;
    memory_.assign(origin_ + static_cast<std::size_t>(highest) + margin, sentinel);
  }

  /// The bytes that elements occupy, from the address of the first one.
  static std::pair<std::ptrdiff_t, std::ptrdiff_t> span(const Layout& layout, std::size_t count) {
    if (count == 0) return {0, 0};
    const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(count - 1) * layout.extent;
    std::ptrdiff_t low = 0;
    std::ptrdiff_t high = 0;
    for (const Part& part : layout.parts) {
      low = std::min(low, part.offset + std::min<std::ptrdiff_t>(last, 0));
      high = std::max(
          high, part.offset + std::max<std::ptrdiff_t>(last, 0) + static_cast<std::ptrdiff_t>(part.bytes));
    }
    return {low, high};
  }

  [[nodiscard]] char* address() { return memory_.data() + origin_; }
  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }

  void load(std::size_t which, const std::vector<char>& compact) {
    const char* from = compact.data();
    each_part(which, [&](char* at, std::size_t bytes) {
      std::memcpy(at, from, bytes);
      from += bytes;
    });
  }
  [[nodiscard]] std::vector<char> unload(std::size_t which) {
    std::vector<char> compact(blocks_[which].count * blocks_[which].layout->compact_bytes());
    char* into = compact.data();
    each_part(which, [&](const char* at, std::size_t bytes) {
      std::memcpy(into, at, bytes);
      into += bytes;
    });
    return compact;
  }

  /// Returns whether all that belongs to no block is unchanged. Forgets the blocks.
  [[nodiscard]] bool rest_untouched() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      each_part(i, [](char* at, std::size_t bytes) { std::memset(at, sentinel, bytes); });
    }
    return std::all_of(memory_.begin(), memory_.end(), [](char c) { return c == sentinel; });
  }

 private:
  static constexpr std::ptrdiff_t margin = 64;

  template <typename Do>
  void each_part(std::size_t which, const Do& with) {
    const Block& block = blocks_[which];
    for (std::size_t i = 0; i < block.count; ++i) {
      char* element = address() + block.offset + static_cast<std::ptrdiff_t>(i) * block.layout->extent;
      for (const Part& part : block.layout->parts) with(element + part.offset, part.bytes);
    }
  }

  std::vector<Block> blocks_;
  std::size_t origin_ = 0;
  std::vector<char> memory_;
};

/// One part: an integer type of any size, or a float.
inline Family scalar(const char* name, MPI_Datatype handle, Kind kind, std::size_t bytes) {
  return {name, true, {{name, handle, {{kind, 0, bytes}}, static_cast<std::ptrdiff_t>(bytes)}}};
}

inline Family complex(const char* name, MPI_Datatype handle, Kind kind, std::size_t bytes) {
  const auto second = static_cast<std::ptrdiff_t>(bytes);
  return {name, true, {{name, handle, {{kind, 0, bytes}, {kind, second, bytes}}, 2 * second}}};
}

template <typename T>
Family pair(const char* name, MPI_Datatype handle, Kind kind) {
  struct Pair {
    T value;
    int index;
  };
  const std::vector<Part> parts{{kind, 0, sizeof(T)}, {Kind::integer, offsetof(Pair, index), sizeof(int)}};
  return {name, true, {{name, handle, parts, sizeof(Pair)}}};
}

inline std::vector<Family> predefined_families() {
#define INTEGER(handle, bytes) scalar(#handle, handle, Kind::integer, bytes)
  return {INTEGER(MPI_INT8_T, 1),
          INTEGER(MPI_UINT8_T, 1),
          INTEGER(MPI_INT16_T, 2),
          INTEGER(MPI_UINT16_T, 2),
          INTEGER(MPI_INT, 4),
          INTEGER(MPI_UNSIGNED, 4),
          INTEGER(MPI_INT64_T, 8),
          INTEGER(MPI_UINT64_T, 8),
          INTEGER(MPI_BYTE, 1),
          scalar("MPI_FLOAT", MPI_FLOAT, Kind::f32, 4),
          scalar("MPI_DOUBLE", MPI_DOUBLE, Kind::f64, 8),
          complex("MPI_C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, Kind::f32, 4),
          complex("MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, Kind::f64, 8),
          pair<float>("MPI_FLOAT_INT", MPI_FLOAT_INT, Kind::f32),
          pair<double>("MPI_DOUBLE_INT", MPI_DOUBLE_INT, Kind::f64),
          pair<long>("MPI_LONG_INT", MPI_LONG_INT, Kind::integer),
          pair<int>("MPI_2INT", MPI_2INT, Kind::integer),
          pair<short>("MPI_SHORT_INT", MPI_SHORT_INT, Kind::integer)};
#undef INTEGER
}

/// Returns a committed datatype of these parts.
inline Layout placed(const char* name, const std::vector<MPI_Datatype>& bases, const std::vector<Part>& parts,
                     MPI_Aint lower_bound, MPI_Aint extent) {
  std::vector<int> lengths(parts.size(), 1);
  std::vector<MPI_Aint> offsets;
  for (const Part& part : parts) offsets.push_back(part.offset);
  MPI_Datatype raw{};
  Layout layout{name, {}, parts, extent};
  MPI_Type_create_struct(static_cast<int>(parts.size()), lengths.data(), offsets.data(), bases.data(), &raw);
  MPI_Type_create_resized(raw, lower_bound, extent, &layout.handle);
  MPI_Type_commit(&layout.handle);
  MPI_Type_free(&raw);
  return layout;
}

/// `n` equal numbers per element, in every layout that a datatype can describe.
inline Family derived_family(const char* name, MPI_Datatype base, std::size_t bytes, int n) {
  const auto size = static_cast<MPI_Aint>(bytes);
  const auto parts = [&](MPI_Aint first, MPI_Aint stride) {
    std::vector<Part> all;
    for (int i = 0; i < n; ++i) all.push_back({Kind::integer, first + i * stride, bytes});
    return all;
  };
  const std::vector<MPI_Datatype> bases(static_cast<std::size_t>(n), base);
  Layout contiguous{"contiguous", {}, parts(0, size), n * size};
  MPI_Type_contiguous(n, base, &contiguous.handle);
  MPI_Type_commit(&contiguous.handle);
  Layout strided{"vector", {}, parts(0, 2 * size), (2 * n - 1) * size};
  MPI_Type_vector(n, 1, 2, base, &strided.handle);
  MPI_Type_commit(&strided.handle);
  std::vector<Layout> layouts{
      contiguous,
      {"numbers", base, parts(0, size), n * size, n},
      strided,
      placed("larger extent", bases, parts(0, size), 0, (n + 3) * size),
      placed("true lower bound", bases, parts(2 * size, 2 * size), 0, (2 * n + 3) * size),
      placed("negative lower bound", bases, parts(-3 * size, size), -4 * size, (n + 2) * size),
      // The places of all parts differ modulo n.
      placed("interleaved", bases, parts(0, (3 * n + 1) * size), 0, n * size),
      placed("falling", bases, parts(0, size), 0, -n * size),
      placed("numbers in falling order", bases, parts((n - 1) * size, -size), 0, n * size)};
  return {name, false, layouts};
}

/// A struct with gaps: an int64, an int and, if `with_byte`, a byte.
inline Family struct_family(const char* name, bool with_byte) {
  std::vector<MPI_Datatype> bases{MPI_INT64_T, MPI_INT};
  std::vector<Part> near{{Kind::integer, 0, 8}, {Kind::integer, 8, 4}};
  std::vector<Part> far{{Kind::integer, 16, 8}, {Kind::integer, 4, 4}};
  if (with_byte) {
    bases.push_back(MPI_INT8_T);
    near.push_back({Kind::integer, 12, 1});
    far.push_back({Kind::integer, 27, 1});
  }
  return {name,
          false,
          {placed("as C has it", bases, near, 0, 16), placed("gaps, not in order", bases, far, 0, 40),
           placed("falling", bases, near, 0, -24)}};
}

inline std::vector<Family> derived_families() {
  return {derived_family("INT64_T x 2", MPI_INT64_T, 8, 2), derived_family("INT x 4", MPI_INT, 4, 4),
          derived_family("INT8_T x 3", MPI_INT8_T, 1, 3), struct_family("INT64_T, INT", false),
          struct_family("INT64_T, INT, INT8_T", true)};
}
