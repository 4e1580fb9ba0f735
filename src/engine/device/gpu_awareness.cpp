// SPDX-License-Identifier: Apache-2.0
#include "engine/device/gpu_awareness.hpp"

#include <array>
#include <string_view>

#include "mpi/mpi.hpp"

namespace stretto {
namespace {

std::optional<bool> told;

/// Returns the kinds of memory that the library accepts (MPI 4.1, section 12.4.3); an empty text if it does
/// not say.
std::string_view memory_kinds() {
  static std::array<char, 1024> text{};
  const auto info_of = reinterpret_cast<int (*)(MPI_Comm, MPI_Info*)>(mpi_symbol("PMPI_Comm_get_info"));
  const auto get =
      reinterpret_cast<int (*)(MPI_Info, const char*, int*, char*, int*)>(mpi_symbol("PMPI_Info_get_string"));
  const auto free = reinterpret_cast<int (*)(MPI_Info*)>(mpi_symbol("PMPI_Info_free"));
  MPI_Info info{};
  if (info_of == nullptr || get == nullptr || free == nullptr ||
      info_of(mpi.comm_world, &info) != MPI_SUCCESS)
    return {};
  int length = text.size();
  int is_there = 0;
  const int error = get(info, "mpi_memory_alloc_kinds", &length, text.data(), &is_there);
  free(&info);
  return error == MPI_SUCCESS && is_there != 0 ? std::string_view(text.data()) : std::string_view();
}

bool ask_library() {
  using Query = int (*)();
  using QueryOfKind = int (*)(int kind, int* supported);
  constexpr int cuda = 0;  // MPIX_GPU_SUPPORT_CUDA
  if (const auto query = reinterpret_cast<Query>(mpi_symbol("MPIX_Query_cuda_support"))) return query() != 0;
  if (const auto query = reinterpret_cast<QueryOfKind>(mpi_symbol("MPIX_GPU_query_support"))) {
    int supported = 0;
    return query(cuda, &supported) == MPI_SUCCESS && supported != 0;
  }
  const std::string_view kinds = memory_kinds();
  return kinds.empty() || kinds.find("cuda") != std::string_view::npos;
}

}  // namespace

bool library_is_gpu_aware() {
  // Sockets read host memory only, whatever the user says of a library.
  static const bool is_aware = mpi.has_library() && (told ? *told : ask_library());
  return is_aware;
}

void set_library_is_gpu_aware(std::optional<bool> is_aware) {
  told = is_aware;
}

}  // namespace stretto
