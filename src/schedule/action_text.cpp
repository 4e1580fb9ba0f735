// SPDX-License-Identifier: Apache-2.0
#include "schedule/action_text.hpp"

#include <array>
#include <cstddef>

namespace stretto {
namespace {

std::string prefix(Buffer buffer) {
  constexpr std::array prefixes{"in", "b", "s"};
  return prefixes.at(static_cast<std::size_t>(buffer));
}

}  // namespace

std::string to_string(const Slice& slice) {
  std::string text = prefix(slice.buffer) + std::to_string(slice.first);
  if (slice.is_strided()) {
    const auto run_at = [&](int index) {
      const int first = slice.block(index);
      return std::to_string(first) + (slice.run == 1 ? "" : "-" + std::to_string(first + slice.run - 1));
    };
    return prefix(slice.buffer) + run_at(0) + "," + run_at(slice.run) + ",…(" + std::to_string(slice.count) +
           ")";
  }
  if (slice.count != 1) text += "-" + std::to_string(slice.first + slice.count - 1);
  return text;
}

std::string to_string(const Action& action) {
  const std::string peer = std::to_string(action.peer);
  const std::string into = to_string(action.into);
  switch (action.kind) {
    case Kind::send:
      return "send " + to_string(action.left) + "→" + peer;
    case Kind::recv:
      return "recv " + into + "←" + peer;
    case Kind::recv_reduce: {
      const std::string own = to_string(action.with());
      const bool left = action.arriving == Side::left;
      return "recv_reduce " + into + "=" + (left ? "recv+" + own : own + "+recv") + "←" + peer;
    }
    case Kind::copy:
      return "copy " + into + "=" + to_string(action.left);
    case Kind::reduce:
      return "reduce " + into + "=" + to_string(action.left) + "+" + to_string(action.right);
  }
  return "";
}

}  // namespace stretto
