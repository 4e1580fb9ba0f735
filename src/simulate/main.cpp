// SPDX-License-Identifier: Apache-2.0
// The measuring program in virtual time: our engine and schedules, and SMPI's imitations of MPI libraries,
// on a simulated cluster (SimGrid). It takes the options of the measuring program for real clusters
// (bench/main.cpp), prints the same events, and has four more options:
//
//   --data no        messages hold no data: nothing is checked, and no message is too large
//   --arithmetic no  reductions take no time
//   --in-a-row N     each call is made N times, one after the other without a barrier; times are of all N
//   --ping-pong yes  times messages between the first and the last rank, in place of collectives
//
// smpirun must run it without privatization: all ranks share the globals, and the C++ code relies on that.
#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cases/cases.hpp"
#include "bench/cases/options.hpp"
#include "mpi/mpi.hpp"
#include "simulate/link_queues.hpp"
#include "simulate/measure.hpp"

extern "C" int MPI_Init(int* argc, char*** argv);
extern "C" int MPI_Finalize();

namespace {

using namespace stretto;
using namespace stretto::simulate;
using namespace stretto::bench;
using Json = nlohmann::ordered_json;

void print(const Json& event) {
  std::cout << event.dump() << std::endl;
}

struct Settings {
  Options options;
  int in_a_row = 1;
  bool data = true;
  bool arithmetic = true;
  bool ping_pong = false;
};

Settings parse_settings(int argc, char** argv) {
  Settings settings;
  const std::map<std::string, bool*> own = {{"--data", &settings.data},
                                            {"--arithmetic", &settings.arithmetic},
                                            {"--ping-pong", &settings.ping_pong}};
  std::vector<std::string> others;
  for (int i = 1; i < argc; ++i) {
    const auto found = own.find(argv[i]);
    if (std::string(argv[i]) == "--in-a-row" && i + 1 < argc) {
      settings.in_a_row = std::stoi(argv[++i]);
    } else if (found == own.end() || i + 1 == argc) {
      others.emplace_back(argv[i]);
    } else {
      *found->second = std::string(argv[++i]) == "yes";
    }
  }
  settings.options = parse_options(others);
  return settings;
}

void run_ping_pong(const Options& options, bool prints) {
  for (const std::size_t bytes : options.sizes) {
    const double seconds = ping_pong(bytes);
    if (prints) print({{"event", "message"}, {"bytes", bytes}, {"seconds", seconds}});
  }
}

/// Returns whether all results were correct.
bool run_collectives(const Settings& settings, int rank, int ranks) {
  const Options& options = settings.options;
  check_options(options, ranks);
  const Data data = settings.data ? Data::real : Data::none;
  Simulation simulation(options, data, settings.arithmetic, settings.in_a_row);
  const std::vector<Case> cases = list_cases(options, find_element(options.type), ranks);
  if (rank == 0) {
    print({{"event", "start"},
           {"ranks", ranks},
           {"nodes", simulation.topology().nodes},
           {"cases", cases.size() * options.specs.size()}});
  }
  bool right = true;
  for (const Case& one : cases) {
    for (const std::string& spec : options.specs) {
      Json event = {{"event", "result"}, {"bytes", one.bytes}, {"in_place", one.in_place}, {"spec", spec}};
      try {
        const Simulated result = simulation.run(one, spec);
        right = right && result.correct.value_or(true);
        event["chosen"] = result.chosen;
        event["seconds"] = result.seconds;
        event["correct"] = result.correct ? Json(*result.correct) : Json(nullptr);
      } catch (const std::invalid_argument& error) {
        // A selector of SMPI may choose an algorithm that does not support this number of ranks. That throws
        // on all ranks.
        if (spec != "native") throw;
        event["event"] = "refused";
        event["message"] = error.what();
      }
      if (rank == 0) print(event);
    }
  }
  return right;
}

void report_failure(const char* what) noexcept {
  try {
    print({{"event", "error"}, {"message", what}});
  } catch (const std::exception&) {
    std::abort();
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  load_mpi();
  mpi.Comm_rank(mpi.comm_world, &rank);
  mpi.Comm_size(mpi.comm_world, &ranks);
  int status = 0;
  try {
    const Settings settings = parse_settings(argc, argv);
    if (rank == 0) {
      if (!settings.data || settings.ping_pong) move_no_data();
      queue_messages(set_protocols());
    }
    mpi.Barrier(mpi.comm_world);
    if (settings.ping_pong) {
      run_ping_pong(settings.options, rank == 0);
    } else if (!run_collectives(settings, rank, ranks)) {
      status = 1;
    }
    if (rank == 0) print({{"event", "end"}});
  } catch (const std::exception& error) {
    // All ranks fail: the arguments are wrong, or there is too little memory, which they share.
    if (rank == 0) report_failure(error.what());
    status = 2;
  }
  MPI_Finalize();
  return status;
}
