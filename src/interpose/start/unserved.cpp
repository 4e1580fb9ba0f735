// SPDX-License-Identifier: Apache-2.0
#include "interpose/start/unserved.hpp"

#include <nlohmann/json.hpp>

#include "interpose/session/session.hpp"
#include "text/environment.hpp"
#include "text/file_writer.hpp"

namespace stretto {

void tell_unserved(const std::string& reason) {
  complain(reason);
  const std::string file = environment("STRETTO_STATS");
  if (file.empty()) return;
  const nlohmann::ordered_json report = {
      {"stretto", STRETTO_VERSION}, {"unserved", reason}, {"calls", nlohmann::ordered_json::array()}};
  const std::string error = replace_file(file, report.dump(2) + '\n');
  if (!error.empty()) complain("STRETTO_STATS=" + file + ": cannot be written: " + error);
}

bool is_strict() {
  return environment("STRETTO_STRICT") == "1";
}

}  // namespace stretto
