// SPDX-License-Identifier: Apache-2.0
#include "ending.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace stretto_torch {
namespace {

using std::chrono::milliseconds;

std::atomic<bool> ends{false};
std::atomic<int> others_inside{0};
thread_local bool ends_process = false;

}  // namespace

MayCallMpi::MayCallMpi() {
  others_inside += ends_process ? 0 : 1;
  may_ = ends_process || !ends;
}

MayCallMpi::~MayCallMpi() {
  others_inside -= ends_process ? 0 : 1;
}

void keep_others_out_of_mpi() {
  ends_process = true;
  ends = true;
  // A poll takes less than a millisecond. A thread that hangs in MPI cannot be stopped.
  for (int i = 0; i < 1000 && others_inside > 0; ++i) std::this_thread::sleep_for(milliseconds(1));
}

void sleep_until_process_ends() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace stretto_torch
