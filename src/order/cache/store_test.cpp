// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/cache/store.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/data/rng.hpp"
#include "base/data/text.hpp"
#include "order/cache/bits.hpp"

namespace unisono::order {
namespace {

Response response_of(std::vector<std::string> names) {
  Response response;
  for (std::string& name : names) {
    response.tensors.emplace_back();
    response.tensors.back().name = std::move(name);
  }
  return response;
}

TEST(CacheStore, TheLeastRecentlyAnsweredGivesWay) {
  CacheStore cache(2, nullptr);
  cache.insert(response_of({"a"}), {}, 1);
  cache.insert(response_of({"b"}), {}, 2);
  cache.touch(cache.find("a")->position);
  cache.insert(response_of({"c"}), {}, 3);
  EXPECT_TRUE(cache.find("a"));
  EXPECT_FALSE(cache.find("b"));
  EXPECT_EQ(cache.find("c")->position, 1u);
  EXPECT_EQ(cache.changed_in(1), 3u);
  EXPECT_EQ(cache.changed_in(0), 1u);
  EXPECT_EQ(cache.take_dropped(), (std::vector<std::uint32_t>{1}));
}

TEST(CacheStore, EraseEmptiesAPositionThatTheNextOneTakes) {
  CacheStore cache(8, nullptr);
  cache.insert(response_of({"a", "b"}), {}, 1);
  cache.insert(response_of({"c"}), {}, 1);
  cache.erase(0, 5);
  EXPECT_EQ(cache.at(0), nullptr);
  EXPECT_FALSE(cache.find("b"));
  cache.insert(response_of({"d"}), {}, 6);
  EXPECT_EQ(cache.find("d")->position, 0u);
  cache.clear(7);
  EXPECT_FALSE(cache.find("c"));
  EXPECT_EQ(cache.changed_in(0), 7u);
}

TEST(CacheStore, KeepsWhatThisMemberSentWhereItDiffers) {
  CacheStore cache(8, nullptr);
  const Response response = response_of({"a"});
  std::vector<Request> own = response.tensors;
  own[0].shape = {5};
  cache.insert(response, own, 1);
  EXPECT_FALSE(cache.own_is_canonical(0));
  EXPECT_EQ(cache.own({0, 0}).shape, (Shape{5}));
  EXPECT_TRUE(cache.at(0)->tensors[0].shape.empty());
}

TEST(CacheStore, EveryCollectiveThatRepeatsIsCacheable) {
  using K = Collective;
  for (const K kind : {K::allreduce, K::allgather, K::broadcast, K::reducescatter, K::alltoall,
                       K::barrier}) {
    Response response = response_of({"a"});
    response.tensors[0].kind = kind;
    EXPECT_TRUE(CacheStore::cacheable(response)) << name_of(kind);
    response.absent = {1};
    EXPECT_FALSE(CacheStore::cacheable(response));
  }
  for (const K kind : {K::join, K::add_process_set, K::remove_process_set, K::prepare,
                       K::switch_order}) {
    Response response = response_of({"a"});
    response.tensors[0].kind = kind;
    EXPECT_FALSE(CacheStore::cacheable(response)) << name_of(kind);
  }
}

TEST(CachePool, SharesOnlyWhatIsEqual) {
  CachePool pool;
  const auto first = pool.share(response_of({"a"}));
  EXPECT_EQ(pool.share(response_of({"a"})), first);
  EXPECT_NE(pool.share(response_of({"b"})), first);
}

TEST(CacheBits, PositionsComeBackAndTakeLittleRoom) {
  Rng rng(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::uint32_t> positions;
    const auto gap = 1 + rng.below(200);
    std::uint32_t at = 0;
    for (auto left = rng.below(60); left > 0; --left) {
      at += static_cast<std::uint32_t>(1 + rng.below(gap));
      positions.push_back(at);
    }
    ByteWriter out;
    put_positions(out, positions);
    ByteReader in(out.bytes());
    EXPECT_EQ(get_positions(in), positions);
    EXPECT_TRUE(in.finished());
    EXPECT_LE(out.size(), 2 + 4 * positions.size());
  }
  std::vector<std::uint32_t> dense;
  for (std::uint32_t i = 0; i < 161; ++i) dense.push_back(i);
  ByteWriter out;
  put_positions(out, dense);
  EXPECT_LE(out.size(), 24u);
}

TEST(NameIndex, FindsWhatAMapFindsThroughInsertionsAndErasures) {
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) names.push_back(cat("layer", i / 3, ".weight", i));
  Rng rng(7);
  NameIndex index;
  std::map<std::string, std::uint32_t> wanted;
  for (int turn = 0; turn < 20'000; ++turn) {
    const auto number = static_cast<std::uint32_t>(rng.below(names.size()));
    const std::string& name = names[number];
    const auto named = [&](std::uint32_t each) { return names[each] == name; };
    if (wanted.contains(name)) {
      EXPECT_EQ(index.find(name, named), number);
      if (rng.below(2) == 0) {
        EXPECT_EQ(index.erase(name, named), number);
        wanted.erase(name);
      }
    } else {
      EXPECT_EQ(index.find(name, named), NameIndex::kNone);
      EXPECT_EQ(index.erase(name, named), NameIndex::kNone);
      index.insert(name, number);
      wanted.emplace(name, number);
    }
    ASSERT_EQ(index.size(), wanted.size());
  }
  for (const auto& [name, number] : wanted) {
    EXPECT_EQ(index.find(name, [&](std::uint32_t each) { return names[each] == name; }), number);
  }
  index.clear();
  EXPECT_EQ(index.size(), 0U);
  EXPECT_EQ(index.find(names[0], [](std::uint32_t) { return true; }), NameIndex::kNone);
}

TEST(NameIndex, NamesOfOneHashAreToldApartByWhoeverHasThem) {
  NameIndex index;
  index.insert("same", 1);
  index.insert("same", 2);              // as if the hashes of two names were one
  EXPECT_EQ(index.find("same", [](std::uint32_t number) { return number == 2; }), 2U);
  EXPECT_EQ(index.erase("same", [](std::uint32_t number) { return number == 1; }), 1U);
  EXPECT_EQ(index.find("same", [](std::uint32_t number) { return number == 2; }), 2U);
}

}  // namespace
}  // namespace unisono::order
