// SPDX-License-Identifier: Apache-2.0
// Several specs or parts of a program in one launch, since most of them take less time than the start of a
// job. A failure names the spec or the part, and so does the output of a program that hangs.
#pragma once

#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"

/// Returns the words of a list: "ring,ring:segments=3".
inline std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream rest(list);
  for (std::string word; std::getline(rest, word, ',');) words.push_back(word);
  return words;
}

/// Notes what is run now.
inline void begin_step(const std::string& name) {
  current_step = name;
  if (world_rank() == 0) std::fprintf(stderr, "running %s\n", name.c_str());
}

/// Runs `body` under each spec of the argument "specs=LIST", which is the program's last one, one after the
/// other. Without it, runs `body` once, under the spec of the environment.
inline void under_each_spec(int argc, char** argv, const std::function<void()>& body) {
  constexpr std::string_view key = "specs=";
  const std::string last = argc > 1 ? argv[argc - 1] : "";
  if (!last.starts_with(key)) return body();
  using Force = int (*)(const char*, const char*, std::size_t);
  const auto force = from_stretto<Force>("stretto_force");
  const std::vector<std::string> specs = words_of(last.substr(key.size()));
  CHECK(!specs.empty(), last);
  for (const std::string& spec : specs) {
    CHECK(force("allreduce", spec.c_str(), 0) == MPI_SUCCESS, spec);
    // It is taken, perhaps with more words.
    const std::string algorithm = spec.substr(0, spec.find(':'));
    CHECK(choice(MPI_COMM_WORLD, 4096).starts_with(algorithm),
          spec + " is not " + choice(MPI_COMM_WORLD, 4096));
    spec_forced_now = spec;
    begin_step(spec);
    body();
  }
  current_step.clear();
}
