// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/kept_file.hpp"

namespace stretto {

/// Passes files between the processes of a node that cannot open each other's files, such as those of
/// containers with PID namespaces of their own. It uses Unix sockets that have no place in the file system,
/// which all processes of a network namespace can reach. Only processes of the same user get anything.
class Handover {
 public:
  /// Begins to listen under a name derived from this token. Returns one line with the reason if it fails, or
  /// an empty string; so does exchange().
  std::string listen(std::uint64_t token);

  struct Received {
    KeptFile file;
    int pid = 0;  // in the PID namespace of this process; 0: it is not visible there
  };
  /// Gives `file` to all other processes and takes their files. To be called when all of them listen.
  /// `tokens` holds the token of each place. `received` has nothing at this process's own place.
  std::string exchange(int file, int place, const std::vector<std::uint64_t>& tokens,
                       std::vector<Received>& received);

 private:
  std::string give(int file, std::size_t others);

  KeptFile listener_;
};

}  // namespace stretto
