// SPDX-License-Identifier: Apache-2.0
// Reads the text of a rule: select/rule_text.hpp says how it is written.
#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "select/rule.hpp"
#include "text/size.hpp"

namespace stretto {
namespace {

/// Returns a number as it is, and 1 for true.
template <typename T>
std::size_t amount(T value) {
  return static_cast<std::size_t>(value);
}

std::size_t block_of(const CallShape& call) {
  return call.bytes / amount(call.ranks);
}

/// Returns by how many messages a chain is deeper than a tree, for each message of the tree's depth. There
/// must be two ranks or more.
std::size_t depth_of(const CallShape& call) {
  const std::size_t ranks = amount(call.ranks);
  return std::max<std::size_t>((ranks - 2) / amount(std::bit_width(ranks - 1)), 1);
}

/// Whether no node has much more than the others.
bool is_even(const CallShape& call) {
  return call.max_ppn * call.nodes <= dominant_share * call.ranks && !call.has_dominant_node;
}

using Property = std::size_t (*)(const CallShape&);

/// The properties of calls, as rules name them.
constexpr std::array<std::pair<std::string_view, Property>, 16> properties{{
    {"bytes", [](const CallShape& call) { return call.bytes; }},
    {"bytes/depth", [](const CallShape& call) { return call.bytes / depth_of(call); }},
    {"block", block_of},
    {"block/16", [](const CallShape& call) { return block_of(call) / 16; }},
    {"ppn*block", [](const CallShape& call) { return amount(call.max_ppn) * block_of(call); }},
    {"ppn*ppn*block",
     [](const CallShape& call) { return amount(call.max_ppn) * amount(call.max_ppn) * block_of(call); }},
    {"ranks", [](const CallShape& call) { return amount(call.ranks); }},
    {"rounds", [](const CallShape& call) { return amount(std::bit_width(amount(call.ranks) - 1)); }},
    {"nodes", [](const CallShape& call) { return amount(call.nodes); }},
    {"ppn", [](const CallShape& call) { return amount(call.max_ppn); }},
    {"min-ppn", [](const CallShape& call) { return amount(call.min_ppn); }},
    {"cache", [](const CallShape& call) { return amount(call.min_cache); }},
    {"memory", [](const CallShape& call) { return amount(call.shares_memory); }},
    {"pof2", [](const CallShape& call) { return amount(std::has_single_bit(amount(call.ranks))); }},
    {"even", [](const CallShape& call) { return amount(is_even(call)); }},
    {"commutative", [](const CallShape& call) { return amount(call.commutative); }},
}};

/// The names of the sections: first those of RuleSection, then those with figures.
constexpr std::array<std::string_view, 7> section_names = {
    "inside a node", "between nodes", "lengths", "reproducible", "own", "derived", "measured"};

/// No error is possible at run time: a test reads the built-in rule.
class RuleReader {
 public:
  explicit RuleReader(const RuleFigures& changed) { table_.figures = changed; }

  RuleTable read(std::string_view text) {
    const RuleFigures changed = table_.figures;
    while (!text.empty()) {
      std::string_view line = take(text, "\n");
      if (line.empty() || line.starts_with('#')) continue;
      if (line.starts_with('[')) {
        line = line.substr(1, line.size() - 2);
        section_ = amount(std::ranges::find(section_names, take(line, ":")) - section_names.begin());
        conditions_ = line;
      } else if (line.find("->") == std::string_view::npos) {
        read_figures(line);
      } else {
        read_row(line);
      }
    }
    for (const auto& [name, bytes] : changed) {
      if (!table_.derived.contains(name)) throw std::invalid_argument("the rule has no figure " + name);
    }
    return std::move(table_);
  }

 private:
  /// Takes the text before the first `end`, and drops the `end`.
  static std::string_view take(std::string_view& text, std::string_view end) {
    const std::string_view taken = text.substr(0, text.find(end));
    text.remove_prefix(std::min(text.size(), taken.size() + end.size()));
    return taken;
  }

  [[noreturn]] static void fail(std::string_view what) {
    throw std::invalid_argument("the rule says \"" + std::string(what) + "\", which is not understood");
  }

  static Property property(std::string_view name) {
    for (const auto& [its_name, property] : properties) {
      if (its_name == name) return property;
    }
    fail(name);
  }

  /// `message = 16KiB, least_message = 8KiB`
  void read_figures(std::string_view line) {
    while (!line.empty()) {
      std::string_view value = take(line, ", ");
      const std::string name(take(value, " = "));
      const auto figure = table_.figures.try_emplace(name, number(value)).first;  // unless it is changed
      if (section_names.at(section_) == "derived") table_.derived.insert(*figure);
    }
  }

  /// `16KiB`, `2*least_message`
  [[nodiscard]] std::size_t number(std::string_view text) const {
    std::size_t product = 1;
    while (!text.empty()) {
      const std::string_view factor = take(text, "*");
      const auto size = parse_size(factor);
      auto figure = table_.figures.find(std::string(factor) + (in_background_ ? " in background" : ""));
      if (figure == table_.figures.end()) figure = table_.figures.find(factor);
      if (!size && figure == table_.figures.end()) fail(factor);
      product *= size ? *size : figure->second;
    }
    return product;
  }

  /// `memory`, `!even`, `ranks=3..16`, `bytes>=16KiB`
  [[nodiscard]] RuleRow::Condition condition(std::string_view text) const {
    if (text.starts_with('!')) return {.of = property(text.substr(1)), .most = 0};
    std::string_view value = text.substr(std::min(text.find_first_of("<>="), text.size()));
    const Property of = property(text.substr(0, text.size() - value.size()));
    if (value.empty()) return {.of = of, .least = 1};
    if (value.starts_with(">=")) return {.of = of, .least = number(value.substr(2))};
    if (value.starts_with("<=")) return {.of = of, .most = number(value.substr(2))};
    if (value.starts_with('>')) return {.of = of, .least = number(value.substr(1)) + 1};
    if (value.starts_with('<')) return {.of = of, .most = number(value.substr(1)) - 1};
    value.remove_prefix(1);
    const std::size_t least = number(take(value, ".."));
    return {.of = of, .least = least, .most = value.empty() ? least : number(value)};
  }

  void read_row(std::string_view line) {
    const std::string names(take(line, " "));
    const std::string text =
        std::string(section_names.at(section_)) + ": " + names + conditions_ + ' ' + std::string(line);
    for (const Collective collective : collectives) {
      const std::string name = ',' + std::string(name_of(collective)) + ',';
      if (names != "any" && (',' + names + ',').find(name) == std::string::npos) continue;
      for (const bool in_background : {false, true}) {
        in_background_ = in_background;
        add_row(collective, text);
      }
    }
    in_background_ = false;
  }

  void add_row(Collective collective, const std::string& text) {
    RuleRow row;
    row.text = text;
    std::string_view spec = text;
    std::string_view conditions = take(spec, "-> ");
    take(conditions, ": ");
    take(conditions, " ");
    while (!conditions.empty()) {
      const std::string_view word = take(conditions, " ");
      if (word == (in_background_ ? "blocking" : "background")) return;
      if (word != (in_background_ ? "background" : "blocking")) row.conditions.push_back(condition(word));
    }
    row.spec = parse_spec(collective, compute(row, spec));
    table_.rows.at(section_)[in_background_ ? 1 : 0][amount(collective)].push_back(row);
    if (section_ <= amount(RuleSection::between) && !row.spec.is_native()) lower_floors(row, collective);
  }

  void lower_floors(const RuleRow& row, Collective collective) {
    const std::size_t least = std::max(range_of(row, "bytes").least, range_of(row, "block").least);
    const bool needs_memory = range_of(row, "memory").least > 0;
    auto& floors = table_.floors[in_background_ ? 1 : 0][amount(collective)];
    for (std::size_t sharing = 0; sharing < floors.size(); ++sharing) {
      if (needs_memory && (sharing == 0 || !range_of(row, "ranks").allows(sharing))) continue;
      floors[sharing].bytes = std::min(floors[sharing].bytes, least);
    }
  }

  static RuleRow::Condition range_of(const RuleRow& row, std::string_view name) {
    RuleRow::Condition range;
    for (const RuleRow::Condition& one : row.conditions) {
      if (one.of != property(name)) continue;
      range.least = std::max(range.least, one.least);
      range.most = std::min(range.most, one.most);
    }
    return range;
  }

  /// Returns a spec with a number in place of `{ranks}`, `{16KiB*ranks}` or `{block/16=8KiB..16KiB}`.
  std::string compute(RuleRow& row, std::string_view spec) const {
    std::string text(take(spec, "{"));
    if (spec.empty()) return text;
    const std::string_view what = take(spec, "}");
    if (table_.figures.contains(what)) return text + size_text(number(what));
    const std::size_t end = what.find('=') == std::string_view::npos ? what.rfind('*') + 1 : 0;
    row.times = number(what.substr(0, end));
    row.computed = condition(what.substr(end));
    return text + '2';  // until the call is known
  }

  RuleTable table_;
  std::size_t section_ = 0;
  std::string conditions_;  // of the section
  bool in_background_ = false;
};

}  // namespace

RuleTable read_rule(std::string_view text, const RuleFigures& changed) {
  return RuleReader(changed).read(text);
}

}  // namespace stretto
