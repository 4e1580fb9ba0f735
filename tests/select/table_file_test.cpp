// SPDX-License-Identifier: Apache-2.0
#include "select/table_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "text/json_reader.hpp"

namespace stretto {
namespace {

namespace fs = std::filesystem;

class TableFiles : public ::testing::Test {
 protected:
  TableFiles() {
    std::string pattern = (fs::temp_directory_path() / "stretto-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
  }
  ~TableFiles() override { fs::remove_all(folder_); }
  TableFiles(const TableFiles&) = delete;
  TableFiles& operator=(const TableFiles&) = delete;

  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  fs::path folder_;
};

TEST_F(TableFiles, TheDefaultPlaceIsByXdg) {
  EXPECT_EQ(default_table_path("mpich"), folder_ / "stretto/table-mpich.json");
  setenv("HOME", folder_.c_str(), 1);
  for (const char* unusable : {"", "relative"}) {
    setenv("XDG_CONFIG_HOME", unusable, 1);
    EXPECT_EQ(default_table_path("openmpi"), folder_ / ".config/stretto/table-openmpi.json");
  }
  setenv("HOME", "/nonexistent", 1);  // as Debian has it for users without a home
  EXPECT_EQ(default_table_path("openmpi"), "");
  unsetenv("HOME");
  EXPECT_EQ(default_table_path("openmpi"), "");
  EXPECT_EQ(read_table_file("", "openmpi").path, "");
}

TEST_F(TableFiles, TheOneAtTheDefaultPlaceNeedNotBeThere) {
  const TableFile none = read_table_file("", "mpich");
  EXPECT_EQ(none.path + none.text + none.error, "");
  const std::string path = write("stretto/table-mpich.json", "{}\n");
  const TableFile file = read_table_file("", "mpich");
  EXPECT_EQ(file.path, path);
  EXPECT_EQ(file.text, "{}\n");
  EXPECT_EQ(file.error, "");
  EXPECT_EQ(read_table_file("", "openmpi").path, "");
  EXPECT_EQ(read_table_file("", "").path, "");
  EXPECT_EQ(read_table_file("none", "mpich").path, "");
}

TEST_F(TableFiles, TheOneThatIsNamedMustBe) {
  EXPECT_EQ(read_table_file(write("a.json", "[1]"), "").text, "[1]");
  const TableFile missing = read_table_file(folder_ / "b.json", "mpich");
  EXPECT_EQ(missing.path, folder_ / "b.json");
  EXPECT_EQ(missing.error, "there is no such file");
  EXPECT_EQ(read_table_file(folder_, "mpich").error, "is not a file");
  EXPECT_EQ(read_table_file("/dev/zero", "mpich").error, "is not a file");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_table_file(folder_ / "pipe", "mpich").error, "is not a file");
  EXPECT_EQ(read_table_file(std::string(5000, 'x'), "mpich").text, "");
  EXPECT_NE(read_table_file(std::string(5000, 'x'), "mpich").error, "");
  EXPECT_NE(read_table_file(folder_ / "a.json/b", "mpich").error, "");
}

TEST_F(TableFiles, OneThatIsTooLongIsReadNoFurther) {
  const std::string path = write("long.json", "");
  fs::resize_file(path, std::uintmax_t{1} << 36);  // sparse
  EXPECT_EQ(read_table_file(path, "mpich").text.size(), JsonText::most_text + 1);
}

}  // namespace
}  // namespace stretto
