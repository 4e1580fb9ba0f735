// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/options.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "bench/cases/native_name.hpp"
#include "select/spec.hpp"

namespace stretto::bench {
namespace {

using namespace std::string_literals;

[[noreturn]] void refuse(std::string_view option, std::string_view value, std::string_view wanted) {
  throw std::invalid_argument(std::string(option) + " " + std::string(value) + ": expected " +
                              std::string(wanted));
}

template <typename Number>
Number parse_number(std::string_view option, std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < Number{}) {
    refuse(option, text, "a number that is not negative");
  }
  return number;
}

/// Returns the parts between commas. Commas in parentheses belong to a spec: smp(ring,chain).
std::vector<std::string> split(std::string_view option, std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char letter : text) {
    if (letter == '(') ++depth;
    if (letter == ')') --depth;
    if (letter == ',' && depth <= 0) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  if (std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); })) {
    refuse(option, text, "a list separated by single commas");
  }
  return parts;
}

Collective parse_collective(std::string_view option, std::string_view text) {
  std::string known;
  for (const MpiFunctionFacts& one : mpi_functions) {
    if (one.name == text) return one.function;
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  refuse(option, text, "one of " + known);
}

double parse_part(std::string_view option, std::string_view text) {
  const auto part = parse_number<double>(option, text);
  if (!(part <= 1)) refuse(option, text, "a number from 0 to 1");
  return part;
}

std::vector<bool> parse_in_place(std::string_view option, std::string_view text) {
  if (text == "no") return {false};
  if (text == "yes") return {true};
  if (text == "both") return {false, true};
  refuse(option, text, "no, yes or both");
}

std::vector<Form> parse_forms(std::string_view option, std::string_view text) {
  std::vector<Form> forms;
  for (const std::string& part : split(option, text)) {
    const auto form = find_form(part);
    if (!form) refuse(option, part, "blocking, non-blocking or persistent");
    forms.push_back(*form);
  }
  return forms;
}

std::vector<Mockup> parse_mockups(std::string_view option, std::string_view text) {
  std::vector<Mockup> mockups;
  for (const std::string& part : split(option, text)) mockups.push_back(parse_mockup(part));
  return mockups;
}

/// Checks that mock-ups are measured as blocking calls out of place, by `native` or `auto`.
void check_mockups(const Options& options, bool in_place) {
  const bool plain = options.only_blocking() && !in_place && !options.overlap;
  const bool by_name = std::all_of(options.specs.begin(), options.specs.end(), [](const std::string& spec) {
    return spec == "native" || spec == "auto";
  });
  if (options.mockups.empty() || (plain && by_name)) return;
  throw std::invalid_argument(
      "--mockups: expected --specs native,auto or one of them, --forms blocking, "
      "--in-place no and --overlap no");
}

bool parse_flag(std::string_view option, std::string_view text) {
  if (text != "no" && text != "yes") refuse(option, text, "no or yes");
  return text == "yes";
}

/// Checks a spec. An algorithm of the MPI library is looked up only when it is used.
void check_spec(Collective collective, const std::string& spec) {
  if (spec == "auto" || !library_algorithm_in(spec).empty()) return;
  parse_spec(collective_of(collective), spec);
}

}  // namespace

void check_options(const Options& options, int ranks) {
  const std::string collective(name_of(options.collective));
  if (options.specs.empty()) throw std::invalid_argument("--specs is missing, e.g. --specs native,ring");
  for (const std::string& spec : options.specs) check_spec(options.collective, spec);
  if (options.sizes.empty()) throw std::invalid_argument("--sizes is missing, e.g. --sizes 1024,1048576");
  if (options.repetitions == 0) refuse("--repetitions", "0", "at least 1");
  if (options.root != 0 && !has_root(options.collective)) {
    throw std::invalid_argument("--root " + std::to_string(options.root) + ": " + collective +
                                " has no root");
  }
  if (options.root >= ranks) {
    refuse("--root", std::to_string(options.root), "a rank from 0 to " + std::to_string(ranks - 1));
  }
  const bool in_place = options.in_place != std::vector<bool>{false};
  if (in_place && !goes_in_place(options.collective)) {
    throw std::invalid_argument("--in-place: " + collective + " has no in-place form");
  }
  if (options.skew && !has_lengths(options.collective)) {
    throw std::invalid_argument("--skew: " + collective + " does not take a length for each rank");
  }
  if (options.overlap && options.has(Form::blocking)) {
    throw std::invalid_argument("--overlap: nothing overlaps with a blocking call; expected other --forms");
  }
  if (options.collective == Collective::barrier && !options.mockups.empty()) {
    throw std::invalid_argument("--mockups: nothing is compared with a barrier");
  }
  check_mockups(options, in_place);
}

Options parse_options(const std::vector<std::string>& words, Options usual) {
  Options options = std::move(usual);
  const std::map<std::string_view, std::function<void(std::string_view, std::string_view)>> setters = {
      {"--serve", [&](auto name, auto value) { options.serve = parse_flag(name, value); }},
      {"--collective", [&](auto name, auto value) { options.collective = parse_collective(name, value); }},
      {"--specs", [&](auto name, auto value) { options.specs = split(name, value); }},
      {"--mockups", [&](auto name, auto value) { options.mockups = parse_mockups(name, value); }},
      {"--forms", [&](auto name, auto value) { options.forms = parse_forms(name, value); }},
      {"--sizes",
       [&](auto name, auto value) {
         options.sizes.clear();
         for (const std::string& size : split(name, value)) {
           options.sizes.push_back(parse_number<std::size_t>(name, size));
         }
       }},
      {"--in-place", [&](auto name, auto value) { options.in_place = parse_in_place(name, value); }},
      {"--root", [&](auto name, auto value) { options.root = parse_number<int>(name, value); }},
      {"--skew", [&](auto name, auto value) { options.skew = parse_part(name, value); }},
      {"--type", [&](auto, auto value) { options.type = value; }},
      {"--repetitions",
       [&](auto name, auto value) { options.repetitions = parse_number<std::size_t>(name, value); }},
      {"--warmup", [&](auto name, auto value) { options.warmup = parse_number<std::size_t>(name, value); }},
      {"--cold", [&](auto name, auto value) { options.cold = parse_number<std::size_t>(name, value); }},
      {"--min-seconds",
       [&](auto name, auto value) { options.min_seconds = parse_number<double>(name, value); }},
      {"--max-seconds",
       [&](auto name, auto value) { options.max_seconds = parse_number<double>(name, value); }},
      {"--budget", [&](auto name, auto value) { options.budget = parse_number<double>(name, value); }},
      {"--seed", [&](auto name, auto value) { options.seed = parse_number<std::uint64_t>(name, value); }},
      {"--overlap", [&](auto name, auto value) { options.overlap = parse_flag(name, value); }},
      {"--test-every",
       [&](auto name, auto value) { options.test_every = parse_number<double>(name, value); }},
      {"--calibrate",
       [&](auto name, auto value) { options.calibrate_seconds = parse_number<double>(name, value); }},
  };
  for (std::size_t at = 0; at < words.size(); at += 2) {
    const auto setter = setters.find(words[at]);
    if (setter == setters.end()) {
      std::string known;
      for (const auto& [name, unused] : setters) known += " "s + std::string(name);
      throw std::invalid_argument("unknown option " + words[at] + "; known are" + known);
    }
    if (at + 1 >= words.size()) throw std::invalid_argument(words[at] + " needs a value");
    setter->second(words[at], words[at + 1]);
  }
  return options;
}

}  // namespace stretto::bench
