// SPDX-License-Identifier: Apache-2.0
#include "select/spec.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "text/known_names.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

constexpr std::uint64_t most_segments = 32768;  // as many as there are tags
constexpr std::uint64_t most_radix = 1024;
constexpr std::uint64_t most_links = 65536;
constexpr std::uint64_t most_rank = 16'777'215;

std::string quoted(std::string_view text) {
  return '"' + std::string(text) + '"';
}

std::vector<std::string_view> known_names(Collective collective, bool may_be_native) {
  std::vector<std::string_view> names;
  if (may_be_native) names.emplace_back("native");
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective == collective) names.push_back(algorithm.name);
  }
  return names;
}

/// spec   := recipe (':' setting '=' value)*
/// recipe := name ['(' recipe (',' recipe)* ')'] [':radix=' number] [':late=' number] [':links=' links]
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), rest_(text) {}

  Spec parse(Collective collective) {
    Spec spec;
    spec.recipe = parse_recipe(collective, true);
    while (take(':')) parse_setting(spec);
    if (!rest_.empty()) fail("unexpected text after its end: " + quoted(rest_));
    if (spec.pipelining.segments > 0 && spec.pipelining.segment_bytes > 0) {
      fail("give segments or segment_bytes, not both");
    }
    return spec;
  }

 private:
  Recipe parse_recipe(Collective collective, bool may_be_native) {
    const std::string_view name = take_word();
    if (may_be_native && name == "native") return {};
    const Algorithm* algorithm = find_algorithm(collective, name);
    if (algorithm == nullptr) {
      fail("there is no " + std::string(name_of(collective)) + " algorithm " + quoted(name) +
           known_names_text(name, known_names(collective, may_be_native)));
    }
    Recipe recipe = usual_recipe(*algorithm);
    if (take('(')) parse_parts(recipe);
    if (rest_.starts_with(":radix=")) {
      if (algorithm->usual_radix == 0) fail(std::string(name) + " takes no radix");
      rest_.remove_prefix(std::string_view(":radix=").size());
      recipe.radix = static_cast<int>(parse_number("radix", take_word(), 2, most_radix, false));
    }
    if (rest_.starts_with(":late=")) {
      if (!algorithm->takes_late) fail(std::string(name) + " takes no late rank");
      rest_.remove_prefix(std::string_view(":late=").size());
      recipe.late = static_cast<int>(parse_number("late", take_word(), 0, most_rank, false));
    }
    if (rest_.starts_with(":links=")) {
      if (!algorithm->takes_links) fail(std::string(name) + " takes no links");
      rest_.remove_prefix(std::string_view(":links=").size());
      recipe.links = parse_links(take_word());
    }
    return recipe;
  }

  /// links := group ('+' group)*, group := percent ['x' number]
  std::vector<int> parse_links(std::string_view text) const {
    std::vector<int> links;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('+', begin), text.size());
      const std::string_view group = text.substr(begin, end - begin);
      const std::size_t times = group.find('x');
      const std::uint64_t percent =
          parse_number("a link's percent", group.substr(0, times), 1, whole_link, false);
      const std::uint64_t count = times == std::string_view::npos
                                      ? 1
                                      : parse_number("a number of links", group.substr(times + 1), 1,
                                                     most_links - links.size(), false);
      links.insert(links.end(), count, static_cast<int>(percent));
      if (links.size() >= most_links && end < text.size()) fail("there are too many links");
      begin = end + 1;
    }
    if (std::ranges::find(links, whole_link) == links.end()) fail("at least one link must have 100 percent");
    return links;
  }

  void parse_parts(Recipe& recipe) {
    if (++depth_ > deepest) fail("algorithms may be nested at most " + std::to_string(deepest) + " deep");
    const Algorithm& algorithm = *recipe.algorithm;
    std::size_t given = 0;
    do {
      if (given == algorithm.part_count()) {
        fail(std::string(algorithm.name) + " takes " + std::to_string(given) +
             (given == 1 ? " part" : " parts"));
      }
      recipe.parts[given] = parse_recipe(algorithm.parts.at(given).collective, false);
      ++given;
    } while (take(','));
    if (!take(')')) fail("expected ) before " + quoted(rest_));
    --depth_;
  }

  void parse_setting(Spec& spec) {
    const std::string_view key = take_word();
    const std::string_view value = take('=') ? take_word() : std::string_view{};
    Pipelining& pipelining = spec.pipelining;
    if (key == "segments") {
      pipelining.segments = static_cast<int>(parse_number(key, value, 1, most_segments, false));
    } else if (key == "segment_bytes") {
      pipelining.segment_bytes = parse_number(key, value, 1, Pipelining::most_segment_bytes, true);
    } else if (key == "window" && spec.is_native()) {
      fail("native takes no window: all of its segments run at once");
    } else if (key == "window") {
      pipelining.window = static_cast<int>(parse_number(key, value, 1, Pipelining::most_window, false));
    } else if (key == "radix" || key == "late" || key == "links") {
      fail(to_string(spec.recipe) + " takes no " + std::string(key) + " here");
    } else {
      fail("there is no setting " + quoted(key) + "; there are segments, segment_bytes, window");
    }
  }

  std::uint64_t parse_number(std::string_view key, std::string_view text, std::uint64_t least,
                             std::uint64_t most, bool is_size) const {
    const std::optional<std::uint64_t> value = is_size ? parse_size(text) : parse_whole(text);
    if (!value || *value < least || *value > most) {
      fail(std::string(key) + " must be a whole number from " + std::to_string(least) + " to " +
           std::to_string(most) + (is_size ? ", or a size such as 256KiB" : "") + ", not " + quoted(text));
    }
    return *value;
  }

  bool take(char symbol) {
    if (!rest_.starts_with(symbol)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Takes the text before the next symbol of the grammar.
  std::string_view take_word() {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(":=(),"));
    rest_.remove_prefix(word.size());
    return word;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw SpecError("spec " + quoted(text_) + ": " + what);
  }

  static constexpr int deepest = 8;

  std::string_view text_;
  std::string_view rest_;
  int depth_ = 0;
};

}  // namespace

Spec parse_spec(Collective collective, std::string_view text) {
  return Parser(text).parse(collective);
}

std::string to_string(const Spec& spec) {
  std::string text = to_string(spec.recipe);
  const Pipelining& pipelining = spec.pipelining;
  if (pipelining.segments > 0) text += ":segments=" + std::to_string(pipelining.segments);
  if (pipelining.segment_bytes > 0) text += ":segment_bytes=" + size_text(pipelining.segment_bytes);
  if (pipelining.window > 0) text += ":window=" + std::to_string(pipelining.window);
  return text;
}

}  // namespace stretto
