// SPDX-License-Identifier: Apache-2.0
// Handles in memory: the program's, in their own width, and Stretto's, in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "mpi/mpi.hpp"

namespace stretto {

/// The place of a handle in memory, or of an array of handles. The program's memory holds handles as its
/// mpi.h declares them.
template <typename Handle>
class Place {
 public:
  Place() = default;
  /// The place of one of Stretto's words.
  Place(Handle* word) : at_(reinterpret_cast<std::byte*>(word)), width_(sizeof(std::uintptr_t)) {}
  /// Returns the place to which an argument of the program points. The argument may be null.
  static Place of_program(const void* argument) {
    Place place;
    place.at_ = static_cast<std::byte*>(const_cast<void*>(argument));
    place.width_ = mpi.handle_bytes;
    return place;
  }

  explicit operator bool() const { return at_ != nullptr; }
  [[nodiscard]] Place operator[](std::size_t index) const {
    Place place = *this;
    place.at_ += index * width_;
    return place;
  }

  operator Handle() const { return load(); }
  [[nodiscard]] Handle load() const {
    if (width_ == sizeof(std::uint32_t))
      return reinterpret_cast<Handle>(std::uintptr_t{load_as<std::uint32_t>()});
    return reinterpret_cast<Handle>(load_as<std::uintptr_t>());
  }
  void store(Handle handle) const {
    const auto word = reinterpret_cast<std::uintptr_t>(handle);
    if (width_ == sizeof(std::uint32_t)) return store_as(static_cast<std::uint32_t>(word));
    store_as(word);
  }

  /// Calls work(Handle*) with a word of the same value, and stores the new value of that word.
  template <typename Work>
  auto through_word(const Work& work) const {
    Handle word = load();
    const auto result = work(&word);
    store(word);
    return result;
  }

 private:
  template <typename Word>
  [[nodiscard]] Word load_as() const {
    Word word;
    std::memcpy(&word, at_, sizeof word);
    return word;
  }
  template <typename Word>
  void store_as(Word word) const {
    std::memcpy(at_, &word, sizeof word);
  }

  std::byte* at_ = nullptr;
  std::size_t width_ = sizeof(std::uintptr_t);
};

/// A handle of Stretto's, in memory as the program would have it.
template <typename Handle>
class ProgramHandle {
 public:
  explicit ProgramHandle(Handle handle) { place().store(handle); }
  [[nodiscard]] void* address() { return &word_; }
  [[nodiscard]] Handle load() { return place(); }

 private:
  Place<Handle> place() { return Place<Handle>::of_program(&word_); }
  std::uintptr_t word_ = 0;
};

/// An array of handles as the MPI library takes it.
template <typename Handle>
class HandleArray {
 public:
  explicit HandleArray(const std::vector<Handle>& words) : bytes_(words.size() * mpi.handle_bytes) {
    for (std::size_t i = 0; i < words.size(); ++i)
      Place<Handle>::of_program(bytes_.data())[i].store(words[i]);
  }
  [[nodiscard]] const void* data() const { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;  // operator new aligns them for any type
};

}  // namespace stretto
