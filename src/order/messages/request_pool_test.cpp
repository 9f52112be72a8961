// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/messages/request_pool.hpp"

#include <gtest/gtest.h>

#include "order/messages/local_queue.hpp"

namespace unisono::order {
namespace {

Request request_of(const char* name, std::int64_t elements) {
  Request request;
  request.name = name;
  request.shape = {elements};
  return request;
}

TEST(RequestPool, KeepsOneOfEqualRequestsAndTellsOthersOfTheNameApart) {
  RequestPool pool;
  const Request& first = pool.share(request_of("a", 4));
  EXPECT_EQ(&pool.share(request_of("a", 4)), &first);
  EXPECT_NE(&pool.share(request_of("a", 5)), &first);
  EXPECT_NE(&pool.share(request_of("b", 4)), &first);
  EXPECT_EQ(&pool.share(request_of("a", 4)), &first);
  EXPECT_EQ(pool.size(), 3u);
}

TEST(RequestPool, AQueueAnswersWithWhatWasSubmittedWithAndWithoutIt) {
  RequestPool pool;
  for (RequestPool* shared : {static_cast<RequestPool*>(nullptr), &pool}) {
    LocalQueue mine(0, shared), another(1, shared);
    for (int round = 0; round < 2; ++round) {
      const Request request = request_of("a", 4 + round);
      mine.submit(request, Time{1});
      another.submit(request, Time{2});
      EXPECT_EQ(mine.finish(*mine.find("a")), request);
      EXPECT_EQ(mine.find("a"), nullptr);
      EXPECT_EQ(another.find("a")->request(), request);
      EXPECT_EQ(another.release(), std::vector<Request>{request});
    }
  }
}

}  // namespace
}  // namespace unisono::order
