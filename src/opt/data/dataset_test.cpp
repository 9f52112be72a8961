// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/data/dataset.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#ifdef UNISONO_HAS_ZLIB
#include <zlib.h>
#endif

#include <algorithm>
#include <limits>

#include "opt/data/file/cache_format.hpp"
#include "opt/data/generate.hpp"
#include "opt/job/workers.hpp"
#include "opt/testing/ranks.hpp"

namespace unisono::opt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Rows whole_file(const std::string& path) {
  auto read = read_part(path, {}, 1);
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? std::move(read->rows) : Rows{};
}

void expect_equal(const Rows& a, const Rows& b) {
  EXPECT_EQ(a.begins, b.begins);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(a.labels, b.labels);
}

std::string url_rows(std::uint64_t count) {
  return generated_rows(*find_shape("url"), 3, 0, count);
}

TEST(Dataset, AnyNumberOfPartsAndThreadsReadsEveryLineOnce) {
  const Folder folder;
  const std::string path = folder.file("data.svm", url_rows(50));
  const Rows whole = whole_file(path);
  EXPECT_EQ(whole.size(), 50u);
  for (const int parts : {1, 2, 3, 7, 70}) {
    for (const int threads : {1, 2, 5}) {
      Rows joined;
      for (int i = 0; i < parts; ++i) {
        auto part = read_part(path, {i, parts}, threads);
        ASSERT_TRUE(part.ok()) << part.status().message();
        append_rows(joined, part->rows);
      }
      expect_equal(joined, whole);
      EXPECT_EQ(joined.width, whole.width);
    }
  }
}

TEST(Dataset, HowFarALargeFileIsReadIsTold) {
  const Folder folder;
  std::string text;
  while (text.size() < std::size_t{10} << 20) text += "1 1:1 5:0.25\n-1 3:7\n";
  const std::string path = folder.file("large.svm", text);
  for (const int threads : {1, 3}) {
    std::vector<double> told;
    const auto read = read_part(path, {}, threads, [&](double done, std::string_view doing) {
      EXPECT_EQ(doing, "reading");
      told.push_back(done);
    });
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read.value().rows.size(), text.size() / 20 * 2);
    EXPECT_GE(told.size(), 1u);
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    EXPECT_LE(told.back(), 1);
    if (threads == 1) {
      EXPECT_EQ(told.size(), 3u) << "slices of 4 MiB";
      EXPECT_EQ(told.back(), 1);
    }
  }
}

TEST(Dataset, OneBadLineIsTheSameErrorOnEveryRank) {
  const Folder folder;
  std::string text = url_rows(40);
  text += "+1 1:1 4:oops\n" + url_rows(40);
  const std::string path = folder.file("data.svm", text);
  run_ranks(3, [&](Engine& engine) {
    const auto set = load(engine, {.path = path, .cache = folder.in("cache")});
    ASSERT_FALSE(set.ok());
    EXPECT_EQ(set.status().message(),
              path + ":41:10: the value of index 4 is no number: \"oops\"");
  });
  EXPECT_FALSE(std::filesystem::exists(folder.in("cache.0-of-3"))) << "nothing is kept of it";
}

TEST(Dataset, LabelsAreMappedInTheirOrderOverAllRanks) {
  const Folder folder;
  const std::string path = folder.file("data.svm", "3 1:1\n3 2:1\n3 1:2\n5 1:1\n3 9:1\n");
  run_ranks(3, [&](Engine& engine) {
    const auto set = load(engine, {.path = path});
    ASSERT_TRUE(set.ok()) << set.status().message();
    EXPECT_EQ(set.value().labels.low, 3);
    EXPECT_EQ(set.value().labels.high, 5);
    EXPECT_EQ(set.value().rows.width, 9u);
    EXPECT_EQ(set.value().total(), 5u);
    EXPECT_EQ(set.value().rows_of[static_cast<std::size_t>(engine.rank())],
              set.value().rows.size());
    for (const float label : set.value().rows.labels) EXPECT_EQ(label * label, 1);
  });
}

TEST(Dataset, FilesThatAreNoTwoClassesAreRefused) {
  const Folder folder;
  const std::string third = folder.file("third", "1 1:1\n-1 1:1\n\n2 1:1\n"),
                    one = folder.file("one", "1 1:1\n1 2:1\n"), none = folder.file("none", "\n\n");
  run_ranks(2, [&](Engine& engine) {
    EXPECT_EQ(load(engine, {.path = third}).status().message(),
              third + ":4:1: there is a third label, 2, beside 1 and -1");
    EXPECT_THAT(load(engine, {.path = one}).status().message(), HasSubstr("every label is 1"));
    EXPECT_THAT(load(engine, {.path = none}).status().message(), HasSubstr("no samples"));
    EXPECT_THAT(load(engine, {.path = folder.in("gone")}).status().message(),
                HasSubstr("No such file"));
    EXPECT_THAT(load(engine, {.path = folder.in("")}).status().message(),
                HasSubstr("not a regular file"));
  });
}

TEST(Dataset, HeldDataHasTheModelsLabelsAndColumns) {
  const Folder folder;
  const std::string path = folder.file("held", "1 1:1 3:3 5:5\n1 4:4\n1 2:2\n");
  run_ranks(1, [&](Engine& engine) {
    LoadSettings settings{.path = path};
    settings.labels = LabelPair{0, 1};
    settings.width = 3;
    const auto set = load(engine, settings);
    ASSERT_TRUE(set.ok()) << set.status().message();
    EXPECT_THAT(set.value().rows.columns, ElementsAre(0, 2, 1));
    EXPECT_THAT(set.value().rows.begins, ElementsAre(0, 2, 2, 3));
    settings.labels = LabelPair{0, 2};
    EXPECT_THAT(load(engine, settings).status().message(),
                HasSubstr(":1:1: the model knows the labels 0 and 2, not 1"));
  });
}

TEST(Cache, GivesBackWhatWasReadUntilTheFileChanges) {
  const Folder folder;
  const std::string path = folder.file("data.svm", url_rows(30)), cache = folder.in("cache");
  run_ranks(2, [&](Engine& engine) {
    const LoadSettings settings{.path = path, .cache = cache};
    const auto first = load(engine, settings), second = load(engine, settings);
    ASSERT_TRUE(first.ok() && second.ok());
    expect_equal(first.value().rows, second.value().rows);
    EXPECT_EQ(second.value().note, "");
  });
  const std::string own = cache_path(cache, {1, 2});
  ASSERT_TRUE(std::filesystem::exists(own));
  const auto stamp = stamp_of(path);
  ASSERT_TRUE(stamp.ok());
  EXPECT_TRUE(read_cache(own, stamp.value(), {1, 2}).ok());
  EXPECT_EQ(read_cache(own, stamp.value(), {0, 2}).status().code(), Code::mismatch);
  folder.file("data.svm", url_rows(31));
  const auto later = stamp_of(path);
  EXPECT_EQ(read_cache(own, later.value(), {1, 2}).status().code(), Code::mismatch);
  run_ranks(2, [&](Engine& engine) {
    const auto again = load(engine, {.path = path, .cache = cache});
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again.value().total(), 31u);
    EXPECT_THAT(again.value().note, HasSubstr("of another file, or of an older one"));
  });
}

TEST(Cache, ThatIsDamagedIsRefusedAtEveryByte) {
  const Folder folder;
  const std::string path = folder.file("data.svm", "1 1:1 2:2\n-1 3:3\n");
  const auto stamp = stamp_of(path);
  const std::string cache = folder.in("cache");
  ASSERT_TRUE(write_cache(cache, stamp.value(), {}, whole_file(path)).ok());
  std::ifstream file(cache, std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(file), {});
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    folder.file("cache", bad);
    EXPECT_FALSE(read_cache(cache, stamp.value(), {}).ok()) << at;
    folder.file("cache", good.substr(0, at));
    EXPECT_FALSE(read_cache(cache, stamp.value(), {}).ok()) << at;
  }
  folder.file("cache", good + "x");
  EXPECT_EQ(read_cache(cache, stamp.value(), {}).status().code(), Code::corrupted);
}

TEST(Cache, WithRightChecksumsAndWrongNumbersIsRefused) {
  const Folder folder;
  const auto refused = [&](const CacheHeader& asked, const Rows& rows) {
    CacheHeader header = asked;
    header.parts = 1;
    header.payload = payload_checksum(rows);
    header.header = own_checksum(header);
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    bytes.append(reinterpret_cast<const char*>(rows.begins.data()), rows.begins.size() * 8);
    bytes.append(reinterpret_cast<const char*>(rows.columns.data()), rows.columns.size() * 4);
    bytes.append(reinterpret_cast<const char*>(rows.values.data()), rows.values.size() * 4);
    bytes.append(reinterpret_cast<const char*>(rows.labels.data()), rows.labels.size() * 4);
    return read_cache(folder.file("cache", bytes), {}, {}).status().code() == Code::corrupted;
  };
  Rows rows{{0, 2}, {0, 1}, {1, 2}, {1}, 2};
  CacheHeader header;
  header.rows = 1;
  header.nonzeros = 2;
  header.width = 2;
  EXPECT_FALSE(refused(header, rows));
  CacheHeader wraps = header;               // so many rows that their bytes wrap around
  wraps.rows += std::uint64_t{1} << 62;
  EXPECT_TRUE(refused(wraps, rows));
  CacheHeader wide = header;
  wide.width += std::uint64_t{1} << 32;
  EXPECT_TRUE(refused(wide, rows));
  rows.columns = {1, 0};
  EXPECT_TRUE(refused(header, rows)) << "columns must ascend";
  rows.columns = {0, 2};
  EXPECT_TRUE(refused(header, rows)) << "and lie within the width";
  rows.columns = {0, 1};
  rows.values[1] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(refused(header, rows)) << "values are finite";
}

TEST(Generate, WritesTheSameFileWhateverTheThreads) {
  const Folder folder;
  for (const int threads : {1, 3}) {
    GenerateSettings settings{find_shape("url"), 300, 0, 3, threads,
                              folder.in(threads == 1 ? "one" : "three")};
    std::uint64_t last = 0;
    ASSERT_TRUE(generate(settings, [&](std::uint64_t done) { last = done; }).ok());
    EXPECT_EQ(last, 300u);
  }
  expect_equal(whole_file(folder.in("one")), whole_file(folder.in("three")));
  EXPECT_EQ(whole_file(folder.in("one")).size(), 300u);
}

TEST(Workers, DoEveryRangeOnceAgainAndAgain) {
  Workers workers(3);
  EXPECT_EQ(workers.count(), 3);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<int> done(10);
    workers.run_ranges(done.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++done[i];
    });
    EXPECT_EQ(done, std::vector<int>(10, 1));
  }
}

#ifdef UNISONO_HAS_ZLIB
// Two members, as `cat a.gz b.gz` makes them.
std::string packed(const Folder& folder, const std::string& text) {
  const std::string path = folder.in("data.svm.gz");
  for (const bool second : {false, true}) {
    const gzFile file = ::gzopen(path.c_str(), second ? "ab" : "wb");
    const std::size_t cut = text.size() / 3;
    const std::string part = second ? text.substr(cut) : text.substr(0, cut);
    EXPECT_GT(::gzwrite(file, part.data(), static_cast<unsigned>(part.size())), 0);
    ::gzclose(file);
  }
  return path;
}

TEST(Packed, FilesAreReadAsTheirTextIs) {
  const Folder folder;
  const std::string text = url_rows(60), path = packed(folder, text);
  const Rows whole = whole_file(folder.file("data.svm", text));
  for (const int parts : {1, 2, 5}) {
    Rows joined;
    for (int i = 0; i < parts; ++i) {
      auto part = read_part(path, {i, parts}, 2);
      ASSERT_TRUE(part.ok()) << part.status().message();
      append_rows(joined, part->rows);
    }
    expect_equal(joined, whole);
  }
  std::vector<std::string> doing;
  ASSERT_TRUE(read_part(path, {}, 1, [&](double done, std::string_view what) {
    EXPECT_LE(done, 1);
    if (doing.empty() || doing.back() != what) doing.emplace_back(what);
  }).ok());
  EXPECT_THAT(doing, ElementsAre("unpacking", "reading"));
}

TEST(Packed, ABadLineHasItsNumberInTheText) {
  const Folder folder;
  const std::string path = packed(folder, url_rows(20) + "1 2:z\n" + url_rows(20));
  for (int i = 0, found = 0; i < 3; ++i) {
    const auto part = read_part(path, {i, 3}, 1);
    if (!part.ok()) {
      EXPECT_EQ(part.status().message(), path + ":21:5: the value of index 2 is no number: \"z\"");
      ++found;
    }
    if (i == 2) {
      EXPECT_EQ(found, 1);
    }
  }
}

TEST(Packed, DataThatIsCutOffOrDamagedIsRefused) {
  const Folder folder;
  const std::string path = packed(folder, url_rows(60));
  std::ifstream file(path, std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(file), {});
  const std::string cut = folder.file("cut.gz", good.substr(0, good.size() - 20));
  EXPECT_THAT(read_part(cut, {}, 1).status().message(), HasSubstr("cut off"));
  std::string torn = good;
  torn[good.size() / 2] = static_cast<char>(torn[good.size() / 2] ^ 0xFF);
  EXPECT_EQ(read_part(folder.file("torn.gz", torn), {}, 1).status().code(), Code::corrupted);
}
#else
TEST(Packed, FilesAreRefusedWithTheMend) {
  const Folder folder;
  const std::string path = folder.file("data.gz", "\x1f\x8b nothing");
  EXPECT_THAT(read_part(path, {}, 1).status().message(), HasSubstr("built without zlib"));
}
#endif

}  // namespace
}  // namespace unisono::opt
