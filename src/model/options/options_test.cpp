// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "unisono/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "base/data/rng.hpp"
#include "model/options/option_sources.hpp"
#include "model/options/option_values.hpp"
#include "base/testing/source_tree.hpp"

namespace unisono {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Result<Options> read(std::map<std::string, std::string> variables) {
  return Options::from_lookup([&](const std::string& name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional(it->second);
  });
}

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) {
    char path[] = "/tmp/unisono-options-XXXXXX";
    ::close(::mkstemp(path));
    path_ = path;
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(OptionTable, RowsAreCompleteAndVariablesFollowKeys) {
  std::set<std::string_view> keys;
  const Options defaults;
  for (const OptionRow& row : option_table()) {
    std::string expected = "UNISONO_";
    for (const char c : row.key) expected.push_back(static_cast<char>(std::toupper(c)));
    EXPECT_EQ(row.variable, expected);
    EXPECT_FALSE(row.help.empty());
    EXPECT_TRUE(keys.insert(row.key).second);
    Options copy;
    EXPECT_TRUE(copy.set(row.key, defaults.get(row.key)).ok()) << row.key;
    EXPECT_EQ(copy.get(row.key), defaults.get(row.key));
  }
  EXPECT_TRUE(defaults.validate().ok());
}

// Refresh with: make docs
TEST(OptionTable, DocumentationEndsWithTheTable) {
  const auto path = in_source_tree("docs/OPTIONS.md");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no source tree here: " << path;
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (std::getenv("UNISONO_UPDATE_DOCS") != nullptr) {
    text = text.substr(0, text.find("| option |")) + option_table_markdown();
    std::ofstream(path) << text;
  }
  EXPECT_THAT(text, testing::EndsWith(option_table_markdown())) << "run: make docs";
}

TEST(Options, EnvironmentSetsEveryKind) {
  const auto options = read({{"UNISONO_PLANNER", "wfbp"},
                             {"UNISONO_FUSION_BYTES", "2MiB"},
                             {"UNISONO_DETERMINISTIC", "yes"},
                             {"UNISONO_JOIN_TIMEOUT_S", "0.5"},
                             {"UNISONO_SPIN_US", "20"},
                             {"UNISONO_LOG", " debug "}});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options.value().planner, "wfbp");
  EXPECT_EQ(options.value().fusion_bytes, 2 << 20);
  EXPECT_TRUE(options.value().deterministic);
  EXPECT_EQ(options.value().join_timeout_s, 0.5);
  EXPECT_EQ(options.value().spin_us, 20);
  EXPECT_EQ(options.value().log, "debug");
}

TEST(Options, EmptyVariablesCountAsUnset) {
  const auto options = read({{"UNISONO_PLANNER", ""}, {"UNISONO_CONFIG", " "}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options.value().planner, "merged");
}

TEST(Options, OwnVariableWinsOverHorovodOverFileOverDefault) {
  const ConfigFile file("fusion_bytes = 1K\nlog = error\nplanner = single\n");
  const auto options = read({{"UNISONO_CONFIG", file.path()},
                             {"HOROVOD_FUSION_THRESHOLD", "2048"},
                             {"HOROVOD_LOG_LEVEL", "info"},
                             {"UNISONO_LOG", "debug"}});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options.value().fusion_bytes, 2048);
  EXPECT_EQ(options.value().log, "debug");
  EXPECT_EQ(options.value().planner, "single");
  EXPECT_EQ(options.value().order, "auto");
}

TEST(Options, HorovodLogLevelsAreTranslated) {
  const std::map<std::string, std::string> expected = {
      {"trace", "debug"}, {"debug", "debug"},   {"INFO", "info"},
      {"warning", "warn"}, {"error", "error"}, {"fatal", "error"}};
  for (const auto& [theirs, ours] : expected) {
    const auto options = read({{"HOROVOD_LOG_LEVEL", theirs}});
    ASSERT_TRUE(options.ok()) << theirs;
    EXPECT_EQ(options.value().log, ours);
  }
}

TEST(Options, HorovodStallSettingsAreTranslated) {
  auto options = read({{"HOROVOD_STALL_CHECK_TIME_SECONDS", "20"},
                       {"HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "40"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->stall_warning_s, 20);
  EXPECT_EQ(options->stall_limit_s, 40);
  options =
      read({{"HOROVOD_STALL_CHECK_TIME_SECONDS", "20"}, {"HOROVOD_STALL_CHECK_DISABLE", "1"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->stall_warning_s, 0);
  options = read({{"HOROVOD_STALL_CHECK_DISABLE", "1"}, {"UNISONO_STALL_WARNING_S", "5"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->stall_warning_s, 5);
}

TEST(Options, ErrorNamesOptionVariableValueAllowedAndCloseSpelling) {
  const auto options = read({{"UNISONO_PLANNER", "treshold"}});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.status().code(), Code::invalid_argument);
  EXPECT_THAT(options.status().message(),
              AllOf(HasSubstr("option planner"), HasSubstr("UNISONO_PLANNER"),
                    HasSubstr("\"treshold\""), HasSubstr("threshold, wfbp, single, groups"),
                    HasSubstr("did you mean threshold?")));
}

TEST(Options, BadHorovodValueNamesTheHorovodVariable) {
  const auto options = read({{"HOROVOD_FUSION_THRESHOLD", "lots"}});
  ASSERT_FALSE(options.ok());
  EXPECT_THAT(options.status().message(), HasSubstr("HOROVOD_FUSION_THRESHOLD"));
}

TEST(Options, SetRefusesAndLeavesTheValueAlone) {
  Options options;
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"fusion_bytes", "-1"},   {"fusion_bytes", "1.5M"}, {"fusion_bytes", "9000000T"},
           {"fusion_bytes", ""},     {"deterministic", "2"},   {"dead_s", "-1"},
           {"dead_s", "nan"},        {"dead_s", "inf"},        {"dead_s", "3s"},
           {"dead_s", "1e300"},      {"spin_us", "-2"},        {"transport", "carrier pigeon"},
           {"order", "Coordinator"}, {"log", "loud"}}) {
    const std::string before = options.get(key);
    EXPECT_FALSE(options.set(key, value).ok()) << key << "=" << value;
    EXPECT_EQ(options.get(key), before);
  }
}

TEST(Options, UnknownKeySuggestsTheNearest) {
  Options options;
  EXPECT_THAT(options.set("fusion_byte", "1").message(), HasSubstr("did you mean fusion_bytes?"));
  EXPECT_THAT(options.set("xyzzy", "1").message(), HasSubstr("the options are order, pacing"));
  EXPECT_EQ(options.get("xyzzy"), "");
  EXPECT_TRUE(options.set("fusion-bytes", "8").ok()) << "as command lines write it";
}

TEST(Options, SilenceLimitsMustGrow) {
  for (const auto& variables : std::vector<std::map<std::string, std::string>>{
           {{"UNISONO_DEAD_S", "3"}},
           {{"UNISONO_SUSPECT_S", "1"}},
           {{"UNISONO_HEARTBEAT_S", "0"}},
           {{"UNISONO_HEARTBEAT_S", "5"}}}) {
    const auto options = read(variables);
    ASSERT_FALSE(options.ok());
    EXPECT_THAT(options.status().message(), HasSubstr("dead_s must be larger than suspect_s"));
  }
  EXPECT_TRUE(read({{"UNISONO_HEARTBEAT_S", "0.1"},
                    {"UNISONO_SUSPECT_S", "0.5"},
                    {"UNISONO_DEAD_S", "1"}})
                  .ok());
}

TEST(Options, ValidateSeesFieldsThatWereSetDirectly) {
  Options options;
  options.transport = "pigeon";
  EXPECT_THAT(options.validate().message(), HasSubstr("option transport"));
  options = {};
  options.fusion_bytes = -1;
  EXPECT_FALSE(options.validate().ok());
  options = {};
  options.join_timeout_s = 0;
  EXPECT_FALSE(options.validate().ok());
  options = {};
  options.spin_us = -7;
  EXPECT_TRUE(options.validate().ok());
}

TEST(Options, FileErrorsNameFileAndLine) {
  Options options;
  EXPECT_THAT(apply_option_text(options, "# c\n\nplaner = wfbp\n", "job.conf").message(),
              AllOf(HasSubstr("job.conf:3"), HasSubstr("did you mean planner?")));
  EXPECT_THAT(apply_option_text(options, "log = loud", "job.conf").message(),
              AllOf(HasSubstr("job.conf:1"), HasSubstr("option log")));
  EXPECT_THAT(apply_option_text(options, "\nlog debug", "job.conf").message(),
              HasSubstr("job.conf:2"));
  EXPECT_THAT(apply_option_text(options, "log=info\nlog=warn", "job.conf").message(),
              AllOf(HasSubstr("job.conf:2"), HasSubstr("line 1")));
  EXPECT_TRUE(
      apply_option_text(options, "log = info # noisy\r\n\tfusion_bytes=1 MiB\n", "job.conf").ok());
  EXPECT_EQ(options.log, "info");
  EXPECT_EQ(options.fusion_bytes, 1 << 20);
}

TEST(Options, FileThatCannotBeReadIsAnError) {
  for (const std::string path : {"/nonexistent/job.conf", "/tmp"}) {
    const auto options = read({{"UNISONO_CONFIG", path}});
    ASSERT_FALSE(options.ok());
    EXPECT_THAT(options.status().message(), AllOf(HasSubstr(path), HasSubstr("UNISONO_CONFIG")));
  }
}

TEST(Options, FileParserSurvivesNoise) {
  Rng rng(9);
  const std::string_view alphabet = "log=fusion_by\n#\t 1Kx\0";
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::uint64_t n = rng.below(60); n > 0; --n) {
      text.push_back(alphabet[rng.below(alphabet.size())]);
    }
    Options options;
    const bool taken = apply_option_text(options, text, "noise").ok();
    EXPECT_TRUE(!taken || options.validate().ok()) << text;
  }
}

TEST(Options, AgreementCoversOnlyWhatMustBeShared) {
  Options a, b;
  b.log = "debug";
  b.spin_us = 50;
  b.join_timeout_s = 5;
  EXPECT_EQ(a.agreed_hash(), b.agreed_hash());
  b.fusion_bytes = 1;
  EXPECT_NE(a.agreed_hash(), b.agreed_hash());
  EXPECT_THAT(b.agreed_text(), AllOf(HasSubstr("fusion_bytes=1\n"), HasSubstr("order=auto\n"),
                                     testing::Not(HasSubstr("log="))));
}

TEST(Options, NotesTellOfTyposAndOfHorovodKnobsWithoutMeaning) {
  const std::vector<std::string> names = {"UNISONO_FUSION_BITES", "UNISONO_QQQQQQ", "UNISONO_RANK",
                                          "UNISONO_LOG",          "HOROVOD_AUTOTUNE",  
                                          "HOROVOD_RANK",         "PATH"};
  const auto notes = notes_on_variables(names);
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_THAT(notes[0].text, HasSubstr("did you mean UNISONO_FUSION_BYTES?"));
  EXPECT_EQ(notes[0].level, LogLevel::warn);
  EXPECT_THAT(notes[1].text, testing::Not(HasSubstr("did you mean")));
  EXPECT_EQ(notes[2].level, LogLevel::info);
}

TEST(Options, FromEnvironmentReadsTheProcess) {
  ::setenv("UNISONO_STALL_LIMIT_S", "7.5", 1);
  const auto options = Options::from_environment();
  ::unsetenv("UNISONO_STALL_LIMIT_S");
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options.value().stall_limit_s, 7.5);
}

TEST(OptionValues, BytesTakeBinarySuffixes) {
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("64K"), 64 << 10);
  EXPECT_EQ(parse_bytes("64kb"), 64 << 10);
  EXPECT_EQ(parse_bytes(" 1 GiB "), 1 << 30);
  EXPECT_EQ(parse_bytes("2t"), std::int64_t{2} << 40);
  for (const std::string_view bad : {"", "K", "1X", "1KiBs", "-1", "1e6", "99999999999999999999"}) {
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
  }
}

TEST(OptionValues, FormatBytesReadsBack) {
  for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1000}, std::int64_t{64} << 20,
                                   std::int64_t{3} << 50}) {
    EXPECT_EQ(parse_bytes(format_bytes(bytes)), bytes);
  }
  EXPECT_EQ(format_bytes(64 << 20), "64 MiB");
}

TEST(OptionValues, NearestFindsSlipsAndNothingElse) {
  const std::string_view words[] = {"ring", "recursive_doubling", "direct"};
  EXPECT_EQ(nearest("rong", words), "ring");
  EXPECT_EQ(nearest("RING", words), "ring");
  EXPECT_EQ(nearest("recursivedoubling", words), "recursive_doubling");
  EXPECT_EQ(nearest("tree", words), "");
  EXPECT_EQ(nearest("", words), "");
}

}  // namespace
}  // namespace unisono
