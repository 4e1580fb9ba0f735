// SPDX-License-Identifier: Apache-2.0
// Horovod's sum of float16, under its name. From this, the test builds a module with the name of Horovod's
// module, and a module with another name.
#include <mpi.h>

#include <bit>
#include <cstdint>

/// The number of elements that the function has seen.
extern "C" {
__attribute__((visibility("default"))) long handled = 0;
}

namespace horovod::common {

__attribute__((visibility("default"))) void float16_sum(void* in, void* inout, int* length,
                                                        MPI_Datatype* /*datatype*/) {
  handled += *length;
  const auto* left = static_cast<const std::uint16_t*>(in);
  auto* right = static_cast<std::uint16_t*>(inout);
  const auto value = [](std::uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); };
  for (int i = 0; i < *length; ++i) {
    right[i] = std::bit_cast<std::uint16_t>(static_cast<_Float16>(value(left[i]) + value(right[i])));
  }
}

}  // namespace horovod::common
