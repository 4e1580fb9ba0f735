// SPDX-License-Identifier: Apache-2.0
// How the MPI libraries' own algorithms are chosen:
//
// Open MPI 4.1.4, 5.0.11: coll_tuned_COLLECTIVE_algorithm is an enumeration. It is read when a communicator
// is made, and only if coll_tuned_use_dynamic_rules is set. In 4.1 that must be set at MPI_Init; in 5.0 it
// may be set later. With several ranks per node, 5.0 uses coll/han. In each call, coll/han reads from
// coll_han_COLLECTIVE_dynamic_global_communicator_module which module to use; 3 is coll/tuned. Non-blocking
// calls go to coll/libnbc, which reads coll_libnbc_iCOLLECTIVE_algorithm in each call.
//
// MPICH 4.0.2, 5.0.2: MPIR_CVAR_COLLECTIVE_INTRA_ALGORITHM is read in each call, on any communicator. Its
// values are numbered in the order of its description; 4.0.2 drops the line ends there. An invalid value
// ends the job.
//
// Intel MPI 2021.19: I_MPI_ADJUST_COLLECTIVE is read at MPI_Init only. A later write is accepted but has no
// effect. The description of the variable has the range of its numbers.
#include "bench/library/library_algorithms.hpp"
#include "mpi/mpi.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "text/size.hpp"

namespace stretto::bench {
namespace {

constexpr int han_to_tuned = 3;

struct Choice {
  std::string name;
  int value;
};

struct Variable {
  MPI_T_cvar_handle handle;
  MPI_Datatype type;
  MPI_T_enum enumeration;
  std::string description;

  bool is_flag() const {
    int size = 0;
    mpi.Type_size(type, &size);
    return size == 1;
  }
  int read() const {
    std::array<int, 1024> value{};  // the value may be a text
    mpi.T_cvar_read(handle, value.data());
    return is_flag() ? value[0] & 0xFF : value[0];
  }
};

bool start_tools() {
  int provided = 0;
  // Never finalized: Open MPI 4.1.4 crashes if that happens after MPI_Finalize.
  return mpi.T_init_thread(mpi.thread_single, &provided) == MPI_SUCCESS;
}

std::optional<Variable> find_variable(const std::string& name) {
  static const bool started = start_tools();
  int index = 0;
  if (!started || mpi.T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return std::nullopt;
  Variable variable{};
  int verbosity = 0;
  int bind = 0;
  int scope = 0;
  int name_length = 0;
  int length = 0;
  std::array<char, 8192> text{};
  length = static_cast<int>(text.size());
  std::array<char, 256> unused{};
  name_length = static_cast<int>(unused.size());
  int count = 0;
  if (mpi.T_cvar_get_info(index, unused.data(), &name_length, &verbosity, &variable.type,
                          &variable.enumeration, text.data(), &length, &bind, &scope) != MPI_SUCCESS ||
      mpi.T_cvar_handle_alloc(index, nullptr, &variable.handle, &count) != MPI_SUCCESS) {
    return std::nullopt;
  }
  variable.description = text.data();
  return variable;
}

void write(MPI_T_cvar_handle handle, bool is_flag, int value) {
  const bool flag = value != 0;
  if (is_flag) {
    mpi.T_cvar_write(handle, &flag);
  } else {
    mpi.T_cvar_write(handle, &value);
  }
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return std::toupper(letter); });
  return text;
}

/// Returns `allreduce`, or `iallreduce` for non-blocking calls.
std::string call_name(Collective collective, Form form) {
  const std::string name(name_of(collective));
  return form == Form::blocking ? name : "i" + name;
}

std::string tuned_name(Collective collective, Form form) {
  const std::string call = call_name(collective, form);
  return (form == Form::blocking ? "coll_tuned_" : "coll_libnbc_") + call + "_algorithm";
}

std::string mpich_name(Collective collective, Form form) {
  return "MPIR_CVAR_" + upper(call_name(collective, form)) + "_INTRA_ALGORITHM";
}

std::string intel_variable(Collective collective, Form form) {
  return "I_MPI_ADJUST_" + upper(call_name(collective, form));
}

std::vector<Choice> enumerated(const Variable& variable) {
  std::vector<Choice> choices;
  int count = 0;
  std::array<char, 256> text{};
  int length = static_cast<int>(text.size());
  if (mpi.T_enum_get_info(variable.enumeration, &count, text.data(), &length) != MPI_SUCCESS) return {};
  for (int item = 0; item < count; ++item) {
    int value = 0;
    length = static_cast<int>(text.size());
    if (mpi.T_enum_get_item(variable.enumeration, item, &value, text.data(), &length) != MPI_SUCCESS)
      continue;
    // 0 is `ignore`: the MPI default.
    if (value != 0) choices.push_back({text.data(), value});
  }
  return choices;
}

/// Returns the name at the end of a word. If a description has no line ends, a name directly follows the end
/// of the previous sentence.
std::string without_sentence(const std::string& word) {
  constexpr std::array known{"reduce_scatter_allgather",
                             "scatter_recursive_doubling_allgather",
                             "scatter_ring_allgather",
                             "reduce_scatter_gather",
                             "recursive_doubling",
                             "recursive_halving",
                             "noncommutative",
                             "pairwise",
                             "binomial",
                             "naive",
                             "brucks",
                             "ring",
                             "smp",
                             "nb",
                             "recexch_single_buffer",
                             "recexch_multiple_buffer",
                             "recexch_doubling",
                             "recexch_halving",
                             "recexch_reduce_scatter_recexch_allgatherv",
                             "scatterv_recexch_allgatherv",
                             "recexch",
                             "tree",
                             "linear",
                             "dissemination",
                             "scattered",
                             "blocked",
                             "inplace",
                             "permuted_sendrecv",
                             "pairwise_sendrecv_replace",
                             "auto"};
  std::string_view longest;
  std::string_view prefix;
  for (const std::string_view name : known) {
    if (!std::string_view(word).ends_with(name) || name.size() <= longest.size()) continue;
    longest = name;
    const std::string_view before = std::string_view(word).substr(0, word.size() - name.size());
    prefix = before.ends_with("sched_") ? "sched_" : before.ends_with("tsp_") ? "tsp_" : "";
  }
  return std::string(prefix) + std::string(longest);
}

/// Returns the choices in a description, where each is `NAME   - what it does`.
std::vector<Choice> described(const std::string& text) {
  std::vector<Choice> choices;
  const bool has_lines = text.find('\n') != std::string::npos;
  int value = 0;
  for (std::size_t dash = text.find(" - "); dash != std::string::npos; dash = text.find(" - ", dash + 1)) {
    const std::size_t end = text.find_last_not_of(' ', dash) + 1;
    std::size_t begin = end;
    const auto is_of_name = [&](char letter) {
      return letter == '_' || std::isalnum(static_cast<unsigned char>(letter)) != 0;
    };
    while (begin > 0 && is_of_name(text[begin - 1])) --begin;
    const std::string word = text.substr(begin, end - begin);
    const std::string name = has_lines ? word : without_sentence(word);
    // `ccl` is another library, for GPUs.
    if (!name.empty() && name != "ccl" && !name.ends_with("auto")) choices.push_back({name, value});
    ++value;
  }
  return choices;
}

/// Returns the choices in a description with a text such as `range: 0-32`.
std::vector<Choice> numbered(const std::string& text) {
  constexpr std::string_view mark = "range: ";
  const std::size_t at = text.find(mark);
  int first = 0;
  int last = -1;
  if (at != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto low = std::from_chars(text.data() + at + mark.size(), end, first);
    if (low.ptr != end && *low.ptr == '-') std::from_chars(low.ptr + 1, end, last);
  }
  std::vector<Choice> choices;
  for (int number = first; number <= last; ++number) choices.push_back({std::to_string(number), number});
  return choices;
}

struct Switch {
  Variable variable;
  std::vector<Choice> choices;
};

/// Returns the library's variable for a collective in a form, if it has one.
std::optional<Switch> find_switch(Collective collective, Form form) {
  if (const auto tuned = find_variable(tuned_name(collective, form))) {
    return Switch{*tuned, enumerated(*tuned)};
  }
  if (const auto intel = find_variable("MPIR_CVAR_USE_" + upper(call_name(collective, form)))) {
    return Switch{*intel, numbered(intel->description)};
  }
  // Stretto hands no persistent call to MPICH (rule.hpp), so MPICH's algorithms for them are not listed.
  if (form == Form::persistent) return std::nullopt;
  if (const auto mpich = find_variable(mpich_name(collective, form))) {
    return Switch{*mpich, described(mpich->description)};
  }
  return std::nullopt;
}

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw std::invalid_argument("spec native(" + name + "): " + why);
}

/// The parts of NAME[:segment_bytes=SIZE].
struct Request {
  std::string algorithm;
  int segment_bytes = 0;
};

Request parse_request(const std::string& name) {
  constexpr std::string_view key = ":segment_bytes=";
  const std::size_t colon = name.find(':');
  if (colon == std::string::npos) return {name};
  const std::string_view rest = std::string_view(name).substr(colon);
  const auto bytes = rest.starts_with(key) ? parse_size(rest.substr(key.size())) : std::nullopt;
  if (!bytes || *bytes < 1 || *bytes > INT_MAX) {
    refuse(name, "only a size may follow the name, as in native(ring:segment_bytes=64KiB)");
  }
  return {name.substr(0, colon), static_cast<int>(*bytes)};
}

LibrarySetting setting(const Variable& variable, int forced) {
  return {variable.handle, variable.is_flag(), forced, variable.read()};
}

/// Adds the settings that Open MPI needs in addition to the variable itself.
void add_open_mpi_settings(Collective collective, Form form, const std::string& name, const Request& request,
                           std::vector<LibrarySetting>& settings) {
  if (request.segment_bytes > 0) {
    const auto segment = find_variable(tuned_name(collective, form) + "_segmentsize");
    if (!segment) refuse(name, "this MPI library takes no segment size for it");
    settings.push_back(setting(*segment, request.segment_bytes));
  }
  if (form != Form::blocking) return;
  const auto rules = find_variable("coll_tuned_use_dynamic_rules");
  if (!rules) return;
  const LibrarySetting use = setting(*rules, 1);
  write(use.variable, use.is_flag, use.forced);
  const bool in_use = rules->read() != 0;
  write(use.variable, use.is_flag, use.usual);
  if (!in_use) refuse(name, "this Open MPI must be started with OMPI_MCA_coll_tuned_use_dynamic_rules=1");
  settings.push_back(use);
  const std::string call(name_of(collective));
  if (const auto han = find_variable("coll_han_" + call + "_dynamic_global_communicator_module")) {
    settings.push_back(setting(*han, han_to_tuned));
  }
}

}  // namespace

Forced::Forced(const LibraryAlgorithm* algorithm) : algorithm_(algorithm) {
  if (algorithm_ == nullptr) return;
  for (const LibrarySetting& one : algorithm_->settings) write(one.variable, one.is_flag, one.forced);
}

Forced::~Forced() {
  if (algorithm_ == nullptr) return;
  for (const LibrarySetting& one : algorithm_->settings) write(one.variable, one.is_flag, one.usual);
}

bool LibraryAlgorithms::by_launch() {
  return find_variable("MPIR_CVAR_USE_ALLREDUCE").has_value();
}

std::vector<std::string> LibraryAlgorithms::names(Collective collective, Form form) {
  std::vector<std::string> names;
  if (const auto found = find_switch(collective, form)) {
    for (const Choice& choice : found->choices) names.push_back(choice.name);
  }
  return names;
}

const LibraryAlgorithm* LibraryAlgorithms::find(Collective collective, Form form, const std::string& name) {
  const auto key = std::tuple(collective, form, name);
  if (const auto known = known_.find(key); known != known_.end()) return &known->second;
  const Request request = parse_request(name);
  const auto found = find_switch(collective, form);
  const std::vector<Choice> choices = found ? found->choices : std::vector<Choice>{};
  const auto choice = std::find_if(choices.begin(), choices.end(),
                                   [&](const Choice& one) { return one.name == request.algorithm; });
  if (choice == choices.end()) {
    std::string there;
    for (const Choice& one : choices) there += (there.empty() ? "" : ", ") + one.name;
    refuse(name, "this MPI library has no such algorithm; it has " + (there.empty() ? "none" : there));
  }
  LibraryAlgorithm algorithm{mpi.comm_world, {}};
  if (by_launch()) {
    const std::string variable = intel_variable(collective, form);
    const char* const value = std::getenv(variable.c_str());
    if (value == nullptr || value != name) {
      refuse(name, "Intel MPI must be started with " + variable + "=" + name);
    }
  } else {
    algorithm.settings.push_back(setting(found->variable, choice->value));
    add_open_mpi_settings(collective, form, name, request, algorithm.settings);
    const Forced forced(&algorithm);
    if (mpi.Comm_dup(mpi.comm_world, &algorithm.communicator) != MPI_SUCCESS) {
      throw std::runtime_error("spec native(" + name + "): MPI_Comm_dup failed");
    }
  }
  return &known_.emplace(key, std::move(algorithm)).first->second;
}

}  // namespace stretto::bench
