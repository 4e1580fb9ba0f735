// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/kept_file.hpp"

namespace stretto {

/// Passes files between the processes of a node that cannot open each other's, such as those of containers
/// with PID namespaces of their own. It goes over Unix sockets without a place in the file system, which the
/// processes of one network namespace reach. Only processes of the same user get anything.
class Handover {
 public:
  /// Begins to listen, by a name that follows from this token. Returns one line with the reason if it cannot,
  /// or an empty one; as the next one does.
  std::string listen(std::uint64_t token);

  struct Received {
    KeptFile file;
    int pid = 0;  // in the PID namespace of this process; 0: it is not visible there
  };
  /// Gives `file` to all others and takes theirs. To be called when all listen, of which `tokens` has the
  /// names by place. `received` has nothing at this process's own place.
  std::string exchange(int file, int place, const std::vector<std::uint64_t>& tokens,
                       std::vector<Received>& received);

 private:
  std::string give(int file, std::size_t others);

  KeptFile listener_;
};

}  // namespace stretto
