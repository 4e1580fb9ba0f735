// SPDX-License-Identifier: Apache-2.0
// A fuzz target without libFuzzer: reads the files of a folder, and each of them cut short anywhere. It
// needs no clang and is the same every time.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz.hpp"

int main(int argc, char** argv) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argc > 1 ? argv[1] : ".")) {
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    for (std::size_t length = 0; length <= text.size(); ++length) {
      // A copy, so that a sanitizer sees reads beyond its end.
      const std::string part = text.substr(0, length);
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(part.data()), part.size());
    }
    ++files;
  }
  std::printf("%d files\n", files);
  return files > 0 ? 0 : 1;
}
