// SPDX-License-Identifier: Apache-2.0
#include "bench/library/store_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/mpi.hpp"
#include "stretto/group.h"

extern "C" const stretto::MpiLibrary* stretto_serve_measuring_program();

namespace stretto::bench {
namespace {

constexpr double longest_start = 300;  // s
constexpr double longest_end = 5;      // s

int number_of(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr)
    throw std::runtime_error(std::string(variable) +
                             " is not set; start this by stretto bench --mpi sockets");
  return std::atoi(text);
}

/// This process's end of a connection to a store. It writes a line for each question and reads one for each
/// answer. Values are hexadecimal.
class StoreConnection {
 public:
  explicit StoreConnection(int file) : file_(file) {}

  stretto_store functions() {
    return {this,
            [](void* of, const char* key, const void* value, size_t bytes) {
              return static_cast<StoreConnection*>(of)->set(key, value, bytes);
            },
            [](void* of, const char* key, void* value, size_t capacity) {
              return static_cast<StoreConnection*>(of)->get(key, value, capacity);
            }};
  }

 private:
  int set(const std::string& key, const void* value, std::size_t bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < bytes; ++i) {
      const unsigned byte = static_cast<const unsigned char*>(value)[i];
      text += digits[byte >> 4U];
      text += digits[byte & 15U];
    }
    return ask("set " + key + " " + text) == "ok" ? 0 : -1;
  }

  long get(const std::string& key, void* value, std::size_t capacity) {
    const std::string text = ask("get " + key);
    if (text.empty()) return -1;
    const std::size_t bytes = text.size() / 2;
    for (std::size_t i = 0; i < std::min(bytes, capacity); ++i)
      static_cast<unsigned char*>(value)[i] =
          static_cast<unsigned char>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
    return static_cast<long>(bytes);
  }

  /// Returns an empty line if the store has failed.
  std::string ask(const std::string& question) const {
    const std::string line = question + "\n";
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return {};
    std::string answer;
    for (char one = 0; ::read(file_, &one, 1) == 1 && one != '\n';) answer += one;
    return answer;
  }

  int file_;
};

/// Adds functions that only a program calls, built from functions that the core calls.
void add_functions() {
  mpi.Barrier = [](MPI_Comm comm) -> int {
    int none = 0;
    return mpi.Allreduce(mpi.in_place, &none, 1, mpi.int_, mpi.max, comm);
  };
  mpi.Gather = [](const void* input, int count, MPI_Datatype type, void* output, int received,
                  MPI_Datatype received_type, int root, MPI_Comm comm) -> int {
    int rank = 0;
    int ranks = 0;
    int bytes = 0;
    mpi.Comm_rank(comm, &rank);
    mpi.Comm_size(comm, &ranks);
    mpi.Type_size(type, &bytes);
    std::vector<char> all(static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes) *
                          static_cast<std::size_t>(ranks));
    const int error = mpi.Allgather(input, count, type, all.data(), received, received_type, comm);
    if (error == 0 && rank == root) std::memcpy(output, all.data(), all.size());
    return error;
  };
  // There is no MPI library whose algorithms could be listed.
  mpi.T_init_thread = [](int /*wanted*/, int* /*given*/) -> int { return 1; };
}

}  // namespace

void begin_store_job() {
  const int ranks = number_of("WORLD_SIZE");
  if (ranks < 2) throw std::runtime_error("a job without MPI is measured with 2 ranks or more; give --np 2");
  StoreConnection connection(number_of("STRETTO_STORE"));
  const stretto_store store = connection.functions();
  std::array<std::byte, STRETTO_SECRET_BYTES> secret{};
  if (store.get(store.of, "secret", secret.data(), secret.size()) != static_cast<long>(secret.size()))
    throw std::runtime_error("the store did not return the secret of the job");
  if (stretto_begin_by_store(number_of("RANK"), ranks, &store, std::getenv("MASTER_ADDR"), secret.data(),
                             longest_start) != 0)
    throw std::runtime_error(stretto_error());
  const MpiLibrary* const own = stretto_serve_measuring_program();
  if (own == nullptr) throw std::runtime_error(stretto_error());
  mpi = *own;
  add_functions();
}

void end_store_job() {
  stretto_end(longest_end, nullptr);
}

}  // namespace stretto::bench
