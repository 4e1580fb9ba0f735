// SPDX-License-Identifier: Apache-2.0
// Buffers in device memory, on one rank only, with a stand-in for the driver. Arguments: "load" and the
// stand-in's path, or "leave" and the path. With "leave" the driver exists, but the process does not load
// it.

#include "device.hpp"

namespace {

void plain(bool input_on_device, bool output_on_device, bool in_place) {
  const bool mine = world_rank() == 1;
  const int ranks = size_of(MPI_COMM_WORLD);
  constexpr int count = 5000;
  constexpr std::size_t margin = 4096;
  Buffer input(count * sizeof(int) + 2 * margin, mine && input_on_device);
  Buffer output(count * sizeof(int) + 2 * margin, mine && output_on_device);
  auto* values = reinterpret_cast<int*>((in_place ? output : input).data + margin);
  for (int i = 0; i < count; ++i) values[i] = i * (world_rank() + 1);
  const void* from = in_place ? MPI_IN_PLACE : static_cast<char*>(input.address) + margin;
  void* to = static_cast<char*>(output.address) + margin;
  CHECK(MPI_Allreduce(from, to, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
  const auto* results = reinterpret_cast<int*>(output.data + margin);
  for (int i = 0; i < count; ++i) CHECK(results[i] == i * ranks * (ranks + 1) / 2, std::to_string(i));
  for (std::size_t i = 0; i < margin; ++i)
    CHECK(output.data[i] == 0x5a && output.data[margin + count * 4 + i] == 0x5a);
}

void add(void* in, void* inout, int* length, MPI_Datatype* /*datatype*/) {
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[3 * i + 1] += static_cast<int*>(in)[3 * i + 1];
}

/// Every third int is data. The two others keep their bytes on the device too.
void with_gaps(bool in_place) {
  const bool mine = world_rank() == 1;
  const int ranks = size_of(MPI_COMM_WORLD);
  constexpr int count = 300;
  const int length = 1;
  const MPI_Aint offset = sizeof(int);
  MPI_Datatype raw{};
  MPI_Datatype type{};
  MPI_Type_create_hindexed(1, &length, &offset, MPI_INT, &raw);
  MPI_Type_create_resized(raw, 0, 3 * sizeof(int), &type);
  MPI_Type_commit(&type);
  MPI_Op op{};
  MPI_Op_create(add, 1, &op);
  Buffer input(count * 3 * sizeof(int), mine);
  Buffer output(count * 3 * sizeof(int), mine);
  for (int i = 0; i < count; ++i) reinterpret_cast<int*>((in_place ? output : input).data)[3 * i + 1] = i;
  MPI_Allreduce(in_place ? MPI_IN_PLACE : input.address, output.address, count, type, op, MPI_COMM_WORLD);
  const auto* results = reinterpret_cast<int*>(output.data);
  for (int i = 0; i < count; ++i) {
    CHECK(results[3 * i + 1] == i * ranks, std::to_string(i));
    CHECK(results[3 * i] == 0x5a5a5a5a && results[3 * i + 2] == 0x5a5a5a5a);
  }
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  MPI_Type_free(&raw);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  if (std::string_view(argv[1]) == "leave") {
    CHECK(sums_right(MPI_COMM_WORLD, 1000));
    CHECK(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) == nullptr);
    MPI_Finalize();
    return 0;
  }
  const std::string before = choice(MPI_COMM_WORLD, 20000);
  CHECK(sums_right(MPI_COMM_WORLD, 1000));  // the driver may be loaded later
  if (world_rank() == 1) {
    driver = dlopen(argv[2], RTLD_LAZY);
    CHECK(driver != nullptr, argv[2]);
  }
  for (const bool input_on_device : {true, false}) {
    for (const bool output_on_device : {true, false}) plain(input_on_device, output_on_device, false);
  }
  plain(false, true, true);
  if (!library_reduces()) {
    with_gaps(false);
    with_gaps(true);
  }
  CHECK(choice(MPI_COMM_WORLD, 20000) == before && before == forced_spec());
  if (driver != nullptr) {
    CHECK(from_driver<int (*)()>("stand_in_copies")() >= 6);
    CHECK(from_driver<int (*)()>("stand_in_pushed")() == 0);
  }
  MPI_Finalize();
}
