// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/plan.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/data/hash.hpp"
#include "model/options/choices.hpp"
#include "model/options/option_values.hpp"
#include "model/options/registry.hpp"

namespace unisono {
namespace {

std::uint64_t identity_from(std::uint64_t hash) {
  constexpr unsigned kUnusedBits = 16;
  const std::uint64_t identity = hash >> kUnusedBits;
  return identity == 0 ? 1 : identity;
}

}  // namespace

std::uint64_t identity_of(const Bucket& bucket) {
  std::uint64_t hash = bucket.set;
  for (const Response& response : bucket.responses) {
    for (const Request& tensor : response.tensors) {
      // No shapes: members of a gather have different ones, and each knows only its own.
      const std::array<std::uint64_t, 3> words{
          hash, response.sequence,
          static_cast<std::uint64_t>(response.planned) << 24 |
              static_cast<std::uint64_t>(tensor.kind) << 16 |
              static_cast<std::uint64_t>(tensor.dtype) << 8 |
              static_cast<std::uint64_t>(tensor.op)};
      hash = hash_bytes(std::as_bytes(std::span(words)), response.call);
      // Where calls are known by position, names may have been made up, and then differ.
      if (response.call == 0) hash = hash_text(tensor.name, hash);
    }
  }
  return identity_from(hash);
}

std::uint64_t ballot_identity(const Bucket& bucket) {
  const std::array<std::uint64_t, 2> words{bucket.set, bucket.responses.front().sequence};
  return identity_from(hash_text("ballot", hash_bytes(std::as_bytes(std::span(words)))));
}

bool is_cast(std::string_view codec) {
  return codec.empty() || find_row(kCodecChoices, codec) != nullptr;
}

bool may_pack(const Request& request) {
  if (request.kind != Collective::allreduce && request.kind != Collective::prepare) return false;
  const auto planned = split_list(request.plan_codecs);
  return !is_cast(request.codec) || !std::all_of(planned.begin(), planned.end(), is_cast);
}

std::string_view codec_of(const Bucket& bucket) {
  const Response& first = bucket.responses.front();
  if (!first.method.codec.empty()) return first.method.codec;
  return first.tensors.empty() ? std::string_view() : first.tensors.front().codec;
}

bool needs_ballot(const Bucket& bucket) {
  const Response& first = bucket.responses.front();
  return first.planned && (first.choice != 0 || first.call != 0 || bucket.kind != Collective::allreduce ||
                           size_of(bucket.dtype) == 1 || !is_cast(codec_of(bucket)));
}

}  // namespace unisono
