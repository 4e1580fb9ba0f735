// SPDX-License-Identifier: Apache-2.0
// Reads JSON files that people edit (docs/formats.md), strictly: anything unexpected is an error of one line
// that names its place. A hostile text costs no more memory and time than its length allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stretto {

/// An error of one line: `shapes[2].ppn: expected a whole number from 1 to 65536, not -3`.
class FormatError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

class JsonObject;

/// A value of a JsonText and its place there. Every function that reads it throws FormatError if the value is
/// of another kind.
class JsonValue {
 public:
  JsonValue(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  /// The value's path, such as `shapes[2].allreduce[1].spec`; empty for the text as a whole.
  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] JsonObject object() const;
  /// The elements of a list, at most `most`.
  [[nodiscard]] std::vector<JsonValue> items(std::size_t most) const;
  [[nodiscard]] bool truth() const;
  [[nodiscard]] std::int64_t whole(std::int64_t least, std::int64_t most) const;
  [[nodiscard]] double number(double least, double most = std::numeric_limits<double>::max()) const;
  /// A number above 0.
  [[nodiscard]] double positive() const;
  /// A number of bytes: an integer, or a text such as "64KiB".
  [[nodiscard]] std::uint64_t bytes() const;
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 50;
  /// One line of text of at most `most` bytes (of UTF-8).
  [[nodiscard]] std::string text(std::size_t most) const;

  /// Throws FormatError: `PATH: WHAT`.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  /// Throws FormatError: `expected WHAT, not THIS`.
  [[noreturn]] void expected(const std::string& what) const;

  const nlohmann::json* value_;
  std::string path_;
};

/// The members of an object. The reader asks for them one by one.
class JsonObject {
 public:
  JsonObject(JsonValue place, const nlohmann::json& members) : place_(std::move(place)), members_(&members) {}

  [[nodiscard]] JsonValue required(std::string_view key);
  [[nodiscard]] std::optional<JsonValue> optional(std::string_view key);
  /// Must be called last. Throws FormatError if a member was never asked for.
  void finish() const;

  /// Throws FormatError about the object as a whole.
  [[noreturn]] void fail(const std::string& what) const { place_.fail(what); }

 private:
  JsonValue place_;
  const nlohmann::json* members_;
  std::vector<std::string> asked_;
};

/// A text that is one JSON value. It must outlive its values.
class JsonText {
 public:
  /// Throws FormatError if the text is not JSON, is too long, is nested too deeply, has too many values or
  /// has a key twice. Everything under "notes" in the outermost object must be JSON but is not kept, because
  /// no program reads it.
  explicit JsonText(std::string_view text);
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;
  ~JsonText();

  [[nodiscard]] JsonValue root() const;
  /// Returns the outermost object of a file, after a check of its "format" and "version".
  [[nodiscard]] JsonObject file(std::string_view format, int version) const;

  static constexpr std::size_t most_text = std::size_t{8} << 20;
  static constexpr std::size_t most_values = std::size_t{1} << 18;
  static constexpr std::size_t most_depth = 32;

 private:
  std::unique_ptr<nlohmann::json> value_;
};

/// Makes a text from a file fit for a message: no control characters, and not too long.
std::string shown(std::string_view text, std::size_t most = 80);

}  // namespace stretto
