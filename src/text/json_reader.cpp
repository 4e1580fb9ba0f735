// SPDX-License-Identifier: Apache-2.0
#include "text/json_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "text/known_names.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

using nlohmann::json;

constexpr std::string_view unread_key = "notes";
constexpr std::size_t most_path = 300;  // bytes of a path that a message shows

std::string in_quotes(std::string_view text) {
  return '"' + shown(text) + '"';
}

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? shown(key) : path + '.' + shown(key);
}

std::string joined(const std::string& path, std::size_t index) {
  return path + '[' + std::to_string(index) + ']';
}

/// Returns the shortest text for this number.
std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto [end, status] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

bool is_continuation(char letter) {
  return (static_cast<unsigned char>(letter) & 0xC0U) == 0x80U;
}

/// Returns the length in UTF-8 of a character that controls a terminal or ends a line; 0 for any other.
std::size_t control_at(std::string_view text, std::size_t place) {
  const std::string_view rest = text.substr(place);
  const auto first = static_cast<unsigned char>(rest[0]);
  if (first < ' ' || first == 0x7f) return 1;
  const bool is_c1 = first == 0xc2 && rest.size() > 1 && static_cast<unsigned char>(rest[1]) < 0xa0;
  if (is_c1) return 2;
  return rest.starts_with("\xe2\x80\xa8") || rest.starts_with("\xe2\x80\xa9") ? 3 : 0;
}

/// Builds the value while nlohmann's parser runs, and stops it at the first error.
class Builder : public nlohmann::json_sax<json> {
 public:
  explicit Builder(std::string_view text) : text_(text) {}

  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*spelling*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }  // there is none in a text

  bool start_object(std::size_t /*elements*/) override { return open(json::object()); }
  bool start_array(std::size_t /*elements*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    Level& level = levels_.back();
    if (level.container == nullptr) return true;
    level.key = std::move(value);
    level.is_unread = levels_.size() == 1 && level.key == unread_key;
    const bool is_there =
        level.is_unread ? std::exchange(has_unread_, true) : level.container->contains(level.key);
    return !is_there || fail(path() + ": is given twice");
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    const std::string_view before =
        text_.substr(0, std::min(position - std::min<std::size_t>(position, 1), text_.size()));
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing ..."
    std::string_view what = error.what();
    for (const std::string_view start : {"] ", ": "}) {
      if (const std::size_t found = what.find(start); found != std::string_view::npos) {
        what.remove_prefix(found + start.size());
      }
    }
    return fail("line " + std::to_string(line) + ", column " + std::to_string(column) +
                ": this is not JSON: " + shown(what, 200));
  }

 private:
  /// An object or array that is still open.
  struct Level {
    json* container;  // nullptr inside notes
    std::string key;  // of the member that is being read
    bool is_unread = false;
  };

  [[nodiscard]] bool is_unread() const { return !levels_.empty() && levels_.front().is_unread; }

  bool fail(std::string what) {
    error_ = std::move(what);
    return false;
  }

  /// Returns the path of the next value.
  [[nodiscard]] std::string path() const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.container == nullptr) break;
      // The open elements are in the array already.
      const std::size_t open = &level == &levels_.back() ? 0 : 1;
      path = level.container->is_array() ? joined(path, level.container->size() - open)
                                         : joined(path, level.key);
    }
    return shown(path, most_path);
  }

  template <typename Value>
  json* insert(Value&& value) {
    if (levels_.empty()) return &(root_ = std::forward<Value>(value));
    Level& level = levels_.back();
    if (level.container->is_array()) {
      return &level.container->emplace_back(std::forward<Value>(value));
    }
    return &((*level.container)[level.key] = std::forward<Value>(value));
  }

  bool count() {
    if (++values_ <= JsonText::most_values) return true;
    return fail("there are more than " + std::to_string(JsonText::most_values) + " values");
  }

  template <typename Value>
  bool add(Value&& value) {
    if (is_unread()) return true;
    if (!count()) return false;
    insert(std::forward<Value>(value));
    return true;
  }

  bool open(json&& empty) {
    if (levels_.size() == JsonText::most_depth) {
      return fail(path() + ": nested deeper than " + std::to_string(JsonText::most_depth));
    }
    if (is_unread()) {
      levels_.push_back({.container = nullptr, .key = {}});
      return true;
    }
    if (!count()) return false;
    json* container = insert(std::move(empty));
    levels_.push_back({.container = container, .key = {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string_view text_;
  json root_;
  std::vector<Level> levels_;
  std::size_t values_ = 0;
  bool has_unread_ = false;
  std::string error_;
};

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
  std::string_view end;
  if (text.size() > most) {
    std::size_t tail = text.size() - most / 3;
    while (tail < text.size() && is_continuation(text[tail])) ++tail;
    std::size_t head = most - most / 3;
    while (head > 0 && is_continuation(text[head])) --head;
    end = text.substr(tail);
    text = text.substr(0, head);
  }
  std::string line(text);
  if (!end.empty()) line += "..." + std::string(end);
  // Invalid UTF-8 becomes the replacement character.
  const std::string text_of_json = json(line).dump(-1, ' ', false, json::error_handler_t::replace);
  line = json::parse(text_of_json).get<std::string>();
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (const std::size_t length = control_at(line, i); length > 0) line.replace(i, length, "?");
  }
  return line;
}

JsonText::JsonText(std::string_view text) {
  if (text.size() > most_text) {
    throw FormatError("the text has " + std::to_string(text.size()) + " bytes; it may have at most " +
                      size_text(most_text));
  }
  Builder builder(text);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) throw FormatError(builder.error());
  value_ = std::make_unique<json>(builder.take());
}

JsonText::~JsonText() = default;

JsonValue JsonText::root() const {
  return {*value_, ""};
}

JsonObject JsonText::file(std::string_view format, int version) const {
  JsonObject file = root().object();
  const JsonValue its_format = file.required("format");
  if (const std::string name = its_format.text(80); name != format) {
    its_format.fail("expected " + in_quotes(format) + ", not " + in_quotes(name));
  }
  const JsonValue its_version = file.required("version");
  if (const auto number = its_version.whole(1, 1000000); number != version) {
    its_version.fail("this Stretto reads version " + std::to_string(version) + ", not " +
                     std::to_string(number));
  }
  return file;
}

JsonObject JsonValue::object() const {
  if (!value_->is_object()) expected("an object {...}");
  return {*this, *value_};
}

std::vector<JsonValue> JsonValue::items(std::size_t most) const {
  if (!value_->is_array()) expected("a list [...]");
  if (value_->size() > most) {
    fail("expected at most " + std::to_string(most) + " elements, not " + std::to_string(value_->size()));
  }
  std::vector<JsonValue> values;
  for (std::size_t i = 0; i < value_->size(); ++i) values.emplace_back((*value_)[i], joined(path_, i));
  return values;
}

bool JsonValue::truth() const {
  if (!value_->is_boolean()) expected("true or false");
  return value_->get<bool>();
}

std::int64_t JsonValue::whole(std::int64_t least, std::int64_t most) const {
  // The parser makes only integers above the signed range unsigned.
  const bool fits =
      value_->is_number_integer() &&
      (!value_->is_number_unsigned() || std::in_range<std::int64_t>(value_->get<std::uint64_t>()));
  const std::int64_t value = fits ? value_->get<std::int64_t>() : 0;
  if (!fits || value < least || value > most) {
    expected("a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

double JsonValue::number(double least, double most) const {
  const double value = value_->is_number() ? value_->get<double>() : std::nan("");
  if (!(value >= least && value <= most)) {
    expected(most == std::numeric_limits<double>::max()
                 ? "a number of " + number_text(least) + " or more"
                 : "a number from " + number_text(least) + " to " + number_text(most));
  }
  return value;
}

double JsonValue::positive() const {
  const double value = value_->is_number() ? value_->get<double>() : 0;
  if (!(value > 0)) expected("a number above 0");
  return value;
}

std::uint64_t JsonValue::bytes() const {
  std::optional<std::uint64_t> value;
  if (value_->is_number_unsigned()) value = value_->get<std::uint64_t>();
  if (value_->is_string()) value = parse_size(value_->get_ref<const std::string&>());
  if (!value || *value > most_bytes) {
    expected("a number of bytes from 0 to " + size_text(most_bytes) +
             " (an integer, or a string such as \"64KiB\")");
  }
  return *value;
}

std::string JsonValue::text(std::size_t most) const {
  if (!value_->is_string()) expected("a string");
  const auto& value = value_->get_ref<const std::string&>();
  if (value.size() > most) expected("a string of at most " + std::to_string(most) + " bytes");
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (control_at(value, i) > 0) expected("a string of one line");
  }
  return value;
}

void JsonValue::fail(const std::string& what) const {
  throw FormatError(path_.empty() ? what : path_ + ": " + what);
}

void JsonValue::expected(const std::string& what) const {
  std::string found;
  if (value_->is_object()) {
    found = "an object";
  } else if (value_->is_array()) {
    found = "a list";
  } else {
    found = shown(value_->dump());
  }
  fail("expected " + what + ", not " + found);
}

JsonValue JsonObject::required(std::string_view key) {
  const std::optional<JsonValue> value = optional(key);
  if (!value) place_.fail("there is no " + in_quotes(key));
  return *value;
}

std::optional<JsonValue> JsonObject::optional(std::string_view key) {
  asked_.emplace_back(key);
  const auto found = members_->find(asked_.back());
  if (found == members_->end()) return std::nullopt;
  return JsonValue(*found, joined(place_.path(), key));
}

void JsonObject::finish() const {
  for (const auto& [key, value] : members_->items()) {
    if (std::ranges::find(asked_, key) != asked_.end()) continue;
    std::vector<std::string> known = asked_;
    if (place_.path().empty()) known.emplace_back(unread_key);
    JsonValue(value, joined(place_.path(), key)).fail("there is no such key" + known_names_text(key, known));
  }
}

}  // namespace stretto
