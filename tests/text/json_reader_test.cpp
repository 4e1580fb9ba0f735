// SPDX-License-Identifier: Apache-2.0
#include "text/json_reader.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace stretto {
namespace {

std::string error_of(const std::function<void()>& reading) {
  try {
    reading();
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

std::string error_in(std::string_view text) {
  return error_of([&] { const JsonText json(text); });
}

/// The error when the value of "a" is read.
template <typename Read>
std::string error_at_a(const std::string& value, Read read) {
  const JsonText json("{\"a\": " + value + "}");
  return error_of([&] { read(json.root().object().required("a")); });
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(JsonReader, ReadsEachKindOfValue) {
  const JsonText json(R"({"whole": -3, "number": 2e-6, "bytes": 4096, "size": "64KiB", "truth": true,
                          "list": [1, 2], "inner": {"text": "µ"}})");
  JsonObject object = json.root().object();
  EXPECT_EQ(object.required("whole").whole(-5, 5), -3);
  EXPECT_EQ(object.required("number").number(0), 2e-6);
  EXPECT_EQ(object.required("number").positive(), 2e-6);
  EXPECT_EQ(object.required("whole").number(-5, 0), -3.0);
  EXPECT_EQ(object.required("bytes").bytes(), 4096U);
  EXPECT_EQ(object.required("size").bytes(), 65536U);
  EXPECT_TRUE(object.required("truth").truth());
  EXPECT_EQ(object.required("list").items(2).at(1).whole(0, 9), 2);
  EXPECT_EQ(object.required("list").items(2).at(1).path(), "list[1]");
  JsonObject inner = object.required("inner").object();
  EXPECT_EQ(inner.required("text").text(2), "µ");
  EXPECT_EQ(inner.required("text").path(), "inner.text");
  EXPECT_FALSE(object.optional("none").has_value());
  inner.finish();
  object.finish();
}

TEST(JsonReader, SaysWhatWasExpectedAndWhere) {
  const auto whole = [](const JsonValue& value) { (void)value.whole(1, 65536); };
  EXPECT_EQ(error_at_a("-3", whole), "a: expected a whole number from 1 to 65536, not -3");
  EXPECT_EQ(error_at_a("1.0", whole), "a: expected a whole number from 1 to 65536, not 1.0");
  EXPECT_EQ(error_at_a("18446744073709551615", whole),
            "a: expected a whole number from 1 to 65536, not 18446744073709551615");
  EXPECT_EQ(error_at_a("[1]", whole), "a: expected a whole number from 1 to 65536, not a list");
  EXPECT_EQ(error_at_a("null", whole), "a: expected a whole number from 1 to 65536, not null");
  const auto number = [](const JsonValue& value) { (void)value.number(0, 1); };
  EXPECT_EQ(error_at_a("-1e-9", number), "a: expected a number from 0 to 1, not -1e-09");
  EXPECT_EQ(error_at_a("\"1\"", number), "a: expected a number from 0 to 1, not \"1\"");
  EXPECT_EQ(error_at_a("-1", [](const JsonValue& value) { (void)value.number(0); }),
            "a: expected a number of 0 or more, not -1");
  EXPECT_EQ(error_at_a("0", [](const JsonValue& value) { (void)value.positive(); }),
            "a: expected a number above 0, not 0");
  const auto bytes = [](const JsonValue& value) { (void)value.bytes(); };
  for (const char* wrong : {"-1", "1.5", "\"64KB\"", "\"\"", "1125899906842625", "{}", "true"}) {
    EXPECT_TRUE(error_at_a(wrong, bytes).starts_with("a: expected a number of bytes from 0 to 1048576GiB"))
        << wrong;
  }
  const auto text = [](const JsonValue& value) { (void)value.text(3); };
  EXPECT_EQ(error_at_a("\"abcd\"", text), "a: expected a string of at most 3 bytes, not \"abcd\"");
  EXPECT_EQ(error_at_a("\"a\\nb\"", text), "a: expected a string of one line, not \"a\\nb\"");
  EXPECT_EQ(error_at_a("\"\\u2029\"", text), "a: expected a string of one line, not \"?\"");
  EXPECT_EQ(error_at_a("1", text), "a: expected a string, not 1");
  EXPECT_EQ(error_at_a("1", [](const JsonValue& value) { (void)value.truth(); }),
            "a: expected true or false, not 1");
  EXPECT_EQ(error_at_a("1", [](const JsonValue& value) { (void)value.object(); }),
            "a: expected an object {...}, not 1");
  EXPECT_EQ(error_at_a("{}", [](const JsonValue& value) { (void)value.items(1); }),
            "a: expected a list [...], not an object");
  EXPECT_EQ(error_at_a("[1,2,3]", [](const JsonValue& value) { (void)value.items(2); }),
            "a: expected at most 2 elements, not 3");
}

TEST(JsonReader, EveryKeyMustBeKnownAndStandOnce) {
  const JsonText json(R"({"a": {"b": 1, "c": 2}})");
  JsonObject inner = json.root().object().required("a").object();
  (void)inner.required("b");
  (void)inner.optional("d");
  EXPECT_EQ(error_of([&] { inner.finish(); }), "a.c: there is no such key; there are b, d");
  EXPECT_EQ(error_of([&] { (void)inner.required("e"); }), "a: there is no \"e\"");
  EXPECT_EQ(error_in(R"({"a": [{"b": 1}, {"b": 1, "c": 2, "b": 3}]})"), "a[1].b: is given twice");
  EXPECT_EQ(error_in(R"([[0, {"b": [], "b": 3}]])"), "[0][1].b: is given twice");
  EXPECT_EQ(error_in(R"({"notes": 1, "notes": 2})"), "notes: is given twice");
}

TEST(JsonReader, NotesAreReadByNobody) {
  const JsonText json(R"({"notes": {"a": [1, {"notes": 1, "x": 2, "x": 3}], "b": "c"}, "a": {"notes": 4}})");
  JsonObject object = json.root().object();
  EXPECT_EQ(object.required("a").object().required("notes").whole(0, 9), 4);
  object.finish();
}

TEST(JsonReader, WhatIsNoJsonIsSaidWithItsLineAndColumn) {
  EXPECT_TRUE(
      error_in("{\n  \"a\": ,\n}").starts_with("line 2, column 8: this is not JSON: syntax error while"));
  EXPECT_TRUE(error_in("").starts_with("line 1, column 1: this is not JSON: "));
  EXPECT_TRUE(error_in("{\"a\": 1e999}").starts_with("line 1, column 11: this is not JSON: number overflow"));
  for (const char* wrong : {"{", "[1,]", "{\"a\" 1}", "nan", "NaN", "{\"a\": Infinity}", "[1] 2", "\"\xff\"",
                            "\xff\xfe", "// a\n1", "{'a': 1}", "[\"\n\"]", "[01]", "[+1]"}) {
    const std::string error = error_in(wrong);
    EXPECT_NE(error.find("this is not JSON"), std::string::npos) << wrong << ": " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(JsonReader, LinesStayShort) {
  EXPECT_LT(error_in("[" + repeated("\xc3\xa4", 100000)).size(), 300U);
  const auto whole = [](const JsonValue& value) { (void)value.whole(1, 2); };
  EXPECT_LT(error_at_a('"' + repeated("\xe2\x82\xac", 100000) + '"', whole).size(), 200U);
  EXPECT_LT(error_in("{\"" + repeated("k", 100000) + "\": 1, \"" + repeated("k", 100000) + "\": 2}").size(),
            200U);
  EXPECT_LT(error_in(repeated("{\"" + repeated("k", 80) + "\":", 40)).size(), 400U);
}

TEST(JsonReader, WhatIsTooMuchIsRefused) {
  EXPECT_EQ(error_in(std::string(JsonText::most_text + 1, ' ')),
            "the text has 8388609 bytes; it may have at most 8MiB");
  EXPECT_EQ(error_in("[" + repeated("0,", JsonText::most_values) + "0]"),
            "there are more than 262144 values");
  const std::size_t most = JsonText::most_depth;
  EXPECT_EQ(error_in(repeated("[", most) + repeated("]", most)), "no error");
  EXPECT_NE(error_in(repeated("[", most + 1)).find("[0][0][0]: nested deeper than 32"), std::string::npos);
  EXPECT_NE(error_in(repeated("{\"a\":", 4000000 / 5)).find("a.a: nested deeper than 32"), std::string::npos);
  EXPECT_NE(error_in("{\"notes\":" + repeated("[", 4000000)).find("nested deeper than 32"),
            std::string::npos);
}

TEST(JsonReader, AFileSaysWhatItIs) {
  const JsonText json(R"({"format": "stretto-machine", "version": 2})");
  EXPECT_EQ(error_of([&] { (void)json.file("stretto-table", 1); }),
            "format: expected \"stretto-table\", not \"stretto-machine\"");
  EXPECT_EQ(error_of([&] { (void)json.file("stretto-machine", 1); }),
            "version: this Stretto reads version 1, not 2");
  json.file("stretto-machine", 2).finish();
  const JsonText list("[]");
  EXPECT_EQ(error_of([&] { (void)list.file("stretto-table", 1); }), "expected an object {...}, not a list");
}

TEST(JsonReader, WhatAStrangerWroteIsShownOnOneLineOfUtf8) {
  EXPECT_EQ(shown("a\x1b[31m\n\x7f"), "a?[31m??");
  EXPECT_EQ(shown("\xc2\x9b \xe2\x80\xa8 \xe2\x80\xaa \xc2\xa0"), "? ? \xe2\x80\xaa \xc2\xa0");
  EXPECT_EQ(shown("a\xff"), "a\xef\xbf\xbd");
  EXPECT_EQ(shown("0123456789", 6), "0123...89");
  EXPECT_EQ(shown(repeated("\xc3\xa4", 6), 6), "\xc3\xa4\xc3\xa4...\xc3\xa4");
}

}  // namespace
}  // namespace stretto
