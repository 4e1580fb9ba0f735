// SPDX-License-Identifier: Apache-2.0
#include "interpose/observe/statistics.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <list>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "interpose/session/session.hpp"
#include "select/library_name.hpp"
#include "text/file_writer.hpp"
#include "text/size.hpp"
#include "threads/clock.hpp"
#include "threads/immortal.hpp"

namespace stretto {
namespace {

struct Count {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
};

/// The calls that the MPI library carried out as the program made them, by collective and by the bit width of
/// the number of bytes.
constexpr std::size_t classes = 65;
std::array<std::array<CallCounter, classes>, collectives.size()> native_counts;
/// Those of them that only the built-in rule has decided.
std::array<std::array<CallCounter, classes>, collectives.size()> untuned_counts;

using SizeClass = std::pair<Collective, std::size_t>;
using BySpec = std::list<std::pair<Spec, CallCounter>>;

// Whether it was reported that the file cannot be written.
bool was_reported = false;

std::mutex mutex;
constinit Immortal<std::map<SizeClass, BySpec>> own_counts;

double began = 0;

struct Row {
  Collective collective;
  std::size_t size_class;
  std::string spec;
  Count count;
};

Count read(const CallCounter& counter) {
  return {counter.calls, counter.bytes, static_cast<double>(counter.nanoseconds) * 1e-9};
}

/// Returns the rows in the order of collective, size and spec.
std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const Collective collective : collectives) {
    for (std::size_t size_class = 0; size_class < classes; ++size_class) {
      const CallCounter& native = native_counts[static_cast<std::size_t>(collective)][size_class];
      if (native.calls == 0) continue;
      rows.push_back({collective, size_class, to_string(Spec{}), read(native)});
    }
  }
  {
    const std::lock_guard lock(mutex);
    for (const auto& [key, specs] : own_counts()) {
      for (const auto& [spec, counter] : specs) {
        if (counter.calls == 0) continue;
        rows.push_back({key.first, key.second, to_string(spec), read(counter)});
      }
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Row& left, const Row& right) {
    return std::tie(left.collective, left.size_class, left.spec) <
           std::tie(right.collective, right.size_class, right.spec);
  });
  return rows;
}

/// Sizes of calls of one collective, and the time that went to them.
struct SizeRange {
  std::size_t least = 0;
  std::size_t most = 0;
  double seconds = 0;
};

/// Returns the sizes of a collective that a tuning might make faster: from the least to the greatest size
/// class that takes a tenth or more of what the longest one takes. Without seconds if all classes together
/// take less than `least_seconds`.
SizeRange find_untuned(Collective collective, double least_seconds, const IsDefaultBest& is_default_best) {
  constexpr double least_part = 0.1;
  std::array<double, classes> seconds{};
  const auto& counts = untuned_counts[static_cast<std::size_t>(collective)];
  std::ranges::transform(counts, seconds.begin(),
                         [](const CallCounter& counter) { return read(counter).seconds; });
  const auto sum = [](auto first, auto last) { return std::accumulate(first, last, 0.0); };
  if (sum(seconds.begin(), seconds.end()) < least_seconds) return {};
  seconds[0] = 0;  // nothing is chosen for calls without bytes
  for (std::size_t i = 1; i < classes; ++i) {
    if (seconds[i] > 0 && is_default_best(collective, std::size_t{1} << (i - 1))) seconds[i] = 0;
  }
  const double longest = *std::ranges::max_element(seconds);
  if (longest <= 0) return {};
  const auto matters = [&](double one) { return one >= least_part * longest; };
  const auto first = std::ranges::find_if(seconds, matters);
  const auto end = std::find_if(seconds.rbegin(), seconds.rend(), matters).base();
  return {.least = std::size_t{1} << (first - seconds.begin() - 1),
          .most = std::size_t{1} << (end - seconds.begin() - 1),
          .seconds = sum(first, end)};
}

std::string three_digits(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), seconds < 1000 ? "%.3g" : "%.0f", seconds);
  return text.data();
}

std::string counted(std::uint64_t number, const std::string& what) {
  return std::to_string(number) + ' ' + what + (number == 1 ? "" : "s");
}

}  // namespace

void begin_statistics() {
  began = seconds_now();
}

CallCounter& counter_of(Collective collective, std::size_t bytes, const Spec& spec) {
  const auto size_class = static_cast<std::size_t>(std::bit_width(bytes));
  if (spec.is_pass_through()) return native_counts[static_cast<std::size_t>(collective)][size_class];
  const std::lock_guard lock(mutex);
  BySpec& specs = own_counts()[{collective, size_class}];
  for (auto& [known, counter] : specs) {
    if (known == spec) return counter;
  }
  return specs.emplace_back(std::piecewise_construct, std::forward_as_tuple(spec), std::forward_as_tuple())
      .second;
}

void record_untuned_call(Collective collective, std::size_t bytes, double seconds) {
  untuned_counts[static_cast<std::size_t>(collective)][static_cast<std::size_t>(std::bit_width(bytes))].add(
      bytes, seconds);
}

void record_call(Collective collective, std::size_t bytes, const Spec& spec, double seconds) {
  counter_of(collective, bytes, spec).add(bytes, seconds);
}

std::string statistics_text() {
  int ranks = 1;
  mpi.Comm_size(mpi.comm_world, &ranks);
  nlohmann::ordered_json report;
  report["stretto"] = STRETTO_VERSION;
  report["library"] = session.library;
  if (session.table) report["table"] = session.table_path;
  report["ranks"] = ranks;
  report["nodes"] = session.topology.nodes;
  report["measured_on_rank"] = session.world_rank;
  if (session.connections_from) report["connections_from"] = *session.connections_from;
  auto& calls = report["calls"] = nlohmann::ordered_json::array();
  for (const auto& [collective, size_class, spec, count] : all_rows()) {
    const std::size_t smallest = size_class == 0 ? 0 : std::size_t{1} << (size_class - 1);
    calls.push_back({{"collective", name_of(collective)},
                     {"bytes_from", smallest},
                     {"bytes_below", smallest == 0 ? 1 : 2 * smallest},
                     {"spec", spec},
                     {"calls", count.calls},
                     {"bytes", count.bytes},
                     {"seconds", count.seconds}});
  }
  return report.dump(2) + '\n';
}

std::string summary_text() {
  constexpr std::size_t most_named = 4;
  const bool is_of_all = session.settings.summary == Summary::all;
  const std::string native = to_string(Spec{});
  std::uint64_t calls = 0;
  std::uint64_t own_calls = 0;
  double seconds = 0;
  std::map<std::pair<std::string, std::string>, Count> by_spec;
  for (const Row& row : all_rows()) {
    calls += row.count.calls;
    if (row.spec != native) own_calls += row.count.calls;
    seconds += row.count.seconds;
    Count& count = by_spec[{std::string(name_of(row.collective)), row.spec}];
    count.calls += row.count.calls;
    count.seconds += row.count.seconds;
  }
  const std::string where = " on rank " + std::to_string(session.world_rank);
  const std::string small = is_of_all ? "" : " (small ones are not counted)";
  if (calls == 0) return "no collective was counted" + where + small;
  std::vector<std::pair<std::string, Count>> specs;
  specs.reserve(by_spec.size());
  for (const auto& [key, count] : by_spec) specs.emplace_back(key.first + " by " + key.second, count);
  std::stable_sort(specs.begin(), specs.end(), [](const auto& left, const auto& right) {
    return left.second.seconds > right.second.seconds;
  });
  const auto library = parse_library_name(session.library);
  const std::string by = mpi.has_library() ? std::to_string(own_calls) + " by Stretto and " +
                                                 std::to_string(calls - own_calls) + " by " +
                                                 (library ? library->name : "the MPI library")
                                           : "all by Stretto";
  std::string text = counted(calls, "collective") + where + small + ", " + by + "; " + three_digits(seconds) +
                     " s of " + three_digits(seconds_now() - began) + " s in them: ";
  for (std::size_t i = 0; i < specs.size() && i < most_named; ++i) {
    const Count& count = specs[i].second;
    text += (i == 0 ? "" : ", ") + specs[i].first + " (" + counted(count.calls, "call") + ", " +
            three_digits(count.seconds) + " s)";
  }
  if (specs.size() > most_named) text += " and " + std::to_string(specs.size() - most_named) + " more";
  return text;
}

std::string advice_text(const IsDefaultBest& is_default_best) {
  constexpr double least_seconds = 1;  // of all collectives
  constexpr double least_share = 0.5;  // of these seconds
  const Settings& settings = session.settings;
  // The first makes ranks wait for each other, and the second keeps every table away.
  if (settings.check || settings.table_file == "none") return {};
  double all = 0;
  for (const Row& row : all_rows()) all += row.count.seconds;
  if (all < least_seconds) return {};
  for (const Collective collective : collectives) {
    const SizeRange untuned = find_untuned(collective, least_share * all, is_default_best);
    if (untuned.seconds < least_share * all) continue;
    const std::string name(name_of(collective));
    return "most of this time went to " + name +
           " by the MPI default, with sizes that no tuning table covers: stretto tune --collectives " + name +
           " --sizes " + size_text(untuned.least) + ".." + size_text(untuned.most) +
           " -- LAUNCHER measures what is faster";
  }
  return {};
}

std::string write_statistics(const std::string& file) {
  const std::string error = replace_file(file, statistics_text());
  return error.empty() || was_reported ? "" : "STRETTO_STATS=" + file + ": cannot be written: " + error;
}

void check_statistics_file(Settings& settings) {
  if (settings.statistics_file.empty()) return;
  const std::string error = find_obstacle(settings.statistics_file);
  if (error.empty()) return;
  was_reported = true;
  settings.complaints.push_back({"STRETTO_STATS=" + settings.statistics_file, "cannot be written: " + error,
                                 "the job tries again at its end"});
}

}  // namespace stretto
