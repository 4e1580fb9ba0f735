// SPDX-License-Identifier: Apache-2.0
#include "topology/topology_text.hpp"

#include <charconv>
#include <map>
#include <numeric>
#include <sstream>
#include <vector>

namespace stretto {
namespace {

constexpr int most_ranks = 1 << 20;

[[noreturn]] void fail(std::string_view text, const std::string& what) {
  throw TopologyError("topology \"" + std::string(text.substr(0, text.find('\n'))) + "\": " + what);
}

int parse_count(std::string_view text, std::string_view key, std::string_view word, int least = 1) {
  int value = 0;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (status != std::errc{} || end != word.data() + word.size() || value < least || value > most_ranks) {
    fail(text, std::string(key) + " must be a whole number from " + std::to_string(least) + " to " +
                   std::to_string(most_ranks) + ", not \"" + std::string(word) + "\"");
  }
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// Returns the part to which a place belongs, on a node of `ranks` ranks that is divided into `parts`.
int part_of(int place, int ranks, long long parts) {
  return static_cast<int>(place * std::min<long long>(parts, ranks) / ranks);
}

class Shape {
 public:
  explicit Shape(std::string_view text) : text_(text) {
    // In map=, commas separate numbers, so no other setting can follow.
    if (text.starts_with("map=")) {
      for (const auto word : split(text.substr(4), ',')) map_.push_back(parse_count(text, "map", word, 0));
      return;
    }
    for (const auto setting : split(text, ',')) read(setting);
    if (ppn_.empty()) fail(text, "it does not set ppn, as nodes=8,ppn=4 does");
    if (ppn_.size() == 1) ppn_.assign(static_cast<std::size_t>(nodes_ == 0 ? 1 : nodes_), ppn_.front());
    if (nodes_ != 0 && static_cast<std::size_t>(nodes_) != ppn_.size()) {
      fail(text, "nodes=" + std::to_string(nodes_) + " does not match the " + std::to_string(ppn_.size()) +
                     " numbers of ppn");
    }
    if (std::accumulate(ppn_.begin(), ppn_.end(), 0LL) > most_ranks) {
      fail(text, "it has more than " + std::to_string(most_ranks) + " ranks");
    }
  }

  [[nodiscard]] Topology topology() const {
    if (!map_.empty()) return Topology::from_labels(map_);
    std::vector<int> nodes;
    std::vector<int> sockets;
    std::vector<int> numas;
    std::vector<int> l3s;
    const auto add = [&](int node, int place) {
      const int ranks = ppn_[static_cast<std::size_t>(node)];
      nodes.push_back(node);
      sockets.push_back(part_of(place, ranks, sockets_));
      numas.push_back(part_of(place, ranks, static_cast<long long>(sockets_) * numas_));
      l3s.push_back(part_of(place, ranks, static_cast<long long>(sockets_) * l3s_));
    };
    const int count = static_cast<int>(ppn_.size());
    if (!by_node_) {
      for (int node = 0; node < count; ++node) {
        for (int place = 0; place < ppn_[static_cast<std::size_t>(node)]; ++place) add(node, place);
      }
    } else {
      bool left = true;
      for (int place = 0; left; ++place) {
        left = false;
        for (int node = 0; node < count; ++node) {
          if (place >= ppn_[static_cast<std::size_t>(node)]) continue;
          add(node, place);
          left = true;
        }
      }
    }
    return Topology::from_labels(nodes, sockets, numas, l3s);
  }

 private:
  void read(std::string_view setting) {
    const std::string_view key = setting.substr(0, setting.find('='));
    const std::string_view value =
        key.size() == setting.size() ? std::string_view{} : setting.substr(key.size() + 1);
    if (key == "nodes") {
      nodes_ = parse_count(text_, key, value);
    } else if (key == "ppn") {
      for (const auto word : split(value, '+')) ppn_.push_back(parse_count(text_, key, word));
    } else if (key == "sockets") {
      sockets_ = parse_count(text_, key, value);
    } else if (key == "numas") {
      numas_ = parse_count(text_, key, value);
    } else if (key == "l3") {
      l3s_ = parse_count(text_, key, value);
    } else if (key == "mapping" && (value == "by_slot" || value == "by_node")) {
      by_node_ = value == "by_node";
    } else if (key == "mapping") {
      fail(text_, "mapping must be by_slot or by_node, not \"" + std::string(value) + "\"");
    } else {
      fail(text_, "there is no setting \"" + std::string(key) +
                      "\"; there are nodes, ppn, sockets, numas, l3, mapping, map");
    }
  }

  std::string_view text_;
  std::vector<int> map_;
  std::vector<int> ppn_;
  int nodes_ = 0;
  int sockets_ = 1;
  int numas_ = 1;
  int l3s_ = 1;
  bool by_node_ = false;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// Returns the content of each line, without comments. In a variable, a file is on one line, with semicolons.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (const auto line : split(text, text.find('\n') == std::string_view::npos ? ';' : '\n')) {
    const auto content = trimmed(line.substr(0, line.find('#')));
    if (!content.empty()) lines.push_back(content);
  }
  return lines;
}

Topology parse_lines(const std::vector<std::string_view>& lines) {
  std::map<std::string, int> number_of;
  std::vector<int> nodes;
  std::vector<int> sockets;
  std::vector<int> numas;
  std::vector<int> l3s;
  const auto number = [&](const std::string& name) {
    return number_of.try_emplace(name, static_cast<int>(number_of.size())).first->second;
  };
  for (const auto line : lines) {
    std::istringstream words{std::string(line)};
    std::string node;
    std::string socket;
    std::string numa;
    std::string l3;
    std::string more;
    words >> node >> socket >> numa >> l3 >> more;
    if (line.find('=') != std::string_view::npos) fail(line, "a setting with = must be the only line");
    if (!more.empty()) fail(line, "a line may name a node, a socket, a NUMA domain and a cache, and no more");
    nodes.push_back(number(node));
    sockets.push_back(number(socket));
    numas.push_back(number(numa));
    l3s.push_back(number(l3));
  }
  return Topology::from_labels(nodes, sockets, numas, l3s);
}

}  // namespace

Topology parse_topology(std::string_view text) {
  const auto lines = lines_of(text);
  if (lines.empty()) fail(text, "it does not name a node");
  if (lines.size() == 1 && lines[0].find('=') != std::string_view::npos) return Shape(lines[0]).topology();
  // Every line of a file ends with a line break, so text without one is no file.
  if (text.find_first_of(";\n") == std::string_view::npos) {
    fail(text, "it is neither a file that can be read nor a topology such as nodes=8,ppn=4 or map=0,0,1");
  }
  return parse_lines(lines);
}

}  // namespace stretto
