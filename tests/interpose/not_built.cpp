// SPDX-License-Identifier: Apache-2.0
// A Stretto that was built without this MPI, whose interface the argument names. One line of rank 0 says so,
// and the library carries out all calls.
#include <unistd.h>

#include <algorithm>

#include "check.hpp"

namespace {

/// Captures the standard error of the process while this exists.
class Overheard {
 public:
  Overheard() { dup2(fileno(file_), STDERR_FILENO); }
  Overheard(const Overheard&) = delete;
  Overheard& operator=(const Overheard&) = delete;
  ~Overheard() {
    dup2(usual_, STDERR_FILENO);
    close(usual_);
    std::fclose(file_);
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) all += static_cast<char>(c);
    return all;
  }

 private:
  int usual_ = dup(STDERR_FILENO);
  std::FILE* file_ = std::tmpfile();
};

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const std::string wanted = std::string(", of the binary interface ") + argv[1] +
                             ", for which this Stretto was not built; every call goes to the MPI library\n";
  bool is_right = false;
  std::string said;
  {
    const Overheard overheard;
    MPI_Init(&argc, &argv);
    is_right = sums_right(MPI_COMM_WORLD, 1000);
    said = overheard.text();
  }
  CHECK(is_right);
  const std::size_t begin = said.find("stretto: ");
  if (world_rank() == 0) {
    CHECK(begin != std::string::npos && said.substr(begin).ends_with(wanted), said);
    CHECK(std::count(said.begin() + static_cast<std::ptrdiff_t>(begin), said.end(), '\n') == 1, said);
  } else {
    CHECK(begin == std::string::npos, said);
  }
  MPI_Finalize();
}
