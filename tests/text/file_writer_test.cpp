// SPDX-License-Identifier: Apache-2.0
#include "text/file_writer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace stretto {
namespace {

namespace fs = std::filesystem;

class FileWriter : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::string text_of(const fs::path& path) const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  fs::path folder_ = fs::temp_directory_path() / ("stretto-writer-" + std::to_string(getpid()));
};

TEST_F(FileWriter, ReplacesAFileAsAWhole) {
  const fs::path file = folder_ / "a.json";
  EXPECT_EQ(find_obstacle(file), "");
  EXPECT_FALSE(fs::exists(file));
  EXPECT_EQ(replace_file(file, "one"), "");
  EXPECT_EQ(replace_file(file, "two"), "");
  EXPECT_EQ(text_of(file), "two");
  fs::create_symlink(file, folder_ / "link");
  EXPECT_EQ(replace_file(folder_ / "link", "three"), "");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(text_of(file), "three");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);
}

TEST_F(FileWriter, WritesBesideUnderANameThatNobodyCanForesee) {
  const fs::path file = folder_ / "a.json";
  const fs::path victim = folder_ / "victim";
  std::ofstream(victim) << "precious";
  const fs::path foreseen = file.string() + "." + std::to_string(getpid()) + ".tmp";
  fs::create_symlink(victim, foreseen);
  EXPECT_EQ(find_obstacle(file), "");
  // Two writers at the same time, such as processes with the same id on two nodes.
  const auto write = [&](std::ostream& stream) {
    EXPECT_EQ(replace_file(file, "inner"), "");
    EXPECT_EQ(text_of(file), "inner");
    stream << "outer";
  };
  EXPECT_EQ(replace_file(file, write), "");
  EXPECT_EQ(text_of(file), "outer");
  EXPECT_EQ(text_of(victim), "precious");
  EXPECT_TRUE(fs::is_symlink(foreseen));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 3);
}

TEST_F(FileWriter, FollowsNoLinkOfAnotherUser) {
  const fs::path victim = folder_ / "victim";
  const fs::path link = folder_ / "link";
  std::ofstream(victim) << "old";
  fs::create_symlink(victim, link);
  constexpr uid_t another = 54321;
  const bool is_another = lchown(link.c_str(), another, static_cast<gid_t>(-1)) == 0;  // as root
  const std::string error = is_another ? link.string() + " is a link of another user" : "";
  EXPECT_EQ(find_obstacle(link), error);
  EXPECT_EQ(replace_file(link, "new"), error);
  EXPECT_EQ(text_of(victim), is_another ? "old" : "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);
}

TEST_F(FileWriter, WritesALongTextInPieces) {
  const fs::path file = folder_ / "long";
  const std::string text(std::size_t{300} << 10, 'x');
  const auto write = [&](std::ostream& stream) { stream << text << 'y' << std::flush << text; };
  EXPECT_EQ(replace_file(file, write), "");
  EXPECT_EQ(text_of(file), text + 'y' + text);
}

TEST_F(FileWriter, SaysWhyNot) {
  const std::string nowhere = folder_ / "nowhere" / "a.json";
  EXPECT_EQ(find_obstacle(nowhere), "No such file or directory");
  EXPECT_EQ(replace_file(nowhere, "one"), "No such file or directory");
  EXPECT_EQ(find_obstacle(folder_), "Is a directory");
  EXPECT_NE(replace_file(folder_, "one"), "");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(FileWriter, LeavesADeviceAlone) {
  EXPECT_EQ(find_obstacle("/dev/null"), "");
  EXPECT_EQ(replace_file("/dev/null", "one"), "");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(find_obstacle("/dev/full"), "");
  EXPECT_EQ(replace_file("/dev/full", "one"), "No space left on device");
}

}  // namespace
}  // namespace stretto
