// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/parts.hpp"

#include <algorithm>
#include <utility>

namespace unisono::plan {
namespace {

bool same_collective(const Request& a, const Request& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.op == b.op && a.device == b.device &&
         a.set == b.set && a.prescale == b.prescale && a.postscale == b.postscale &&
         a.codec == b.codec && a.team == b.team;
}

Response empty_part(const Response& whole) {
  Response part;
  part.sequence = whole.sequence;
  part.set = whole.set;
  part.absent = whole.absent;
  part.planned = whole.planned;
  part.vote = whole.vote;
  part.closing = whole.closing;
  part.call = whole.call;
  part.method = whole.method;
  part.value = whole.value;
  return part;
}

}  // namespace

std::vector<Response> alike_parts(Response response) {
  std::vector<Response> parts;
  if (!response.error.ok() || response.tensors.size() <= 1 ||
      response.tensors.front().kind == Collective::join) {
    parts.push_back(std::move(response));
    return parts;
  }
  for (std::size_t i = 0; i < response.tensors.size(); ++i) {
    Request& tensor = response.tensors[i];
    const auto fits = [&](const Response& part) {
      return can_fuse(part) && same_collective(part.tensors.front(), tensor);
    };
    auto part = std::find_if(parts.begin(), parts.end(), fits);
    if (part == parts.end()) part = parts.insert(part, empty_part(response));
    part->tensors.push_back(std::move(tensor));
    if (i < response.extents.size() && !response.extents[i].empty()) {
      part->extents.push_back(std::move(response.extents[i]));
    }
  }
  return parts;
}

bool is_group(const Response& response) {
  return !response.tensors.empty() && !response.tensors.front().group.empty();
}

bool can_fuse(const Response& response) {
  return response.error.ok() && !response.tensors.empty() &&
         traits_of(response.tensors.front().kind).fuses;
}

bool alike(const Response& a, const Response& b) {
  return a.set == b.set && a.absent == b.absent &&
         same_collective(a.tensors.front(), b.tensors.front());
}

std::size_t bytes_of(const Response& response) {
  std::size_t bytes = 0;
  for (const Request& tensor : response.tensors) bytes += tensor.bytes();
  return bytes;
}

std::size_t PlanBuilder::open(Response part) {
  Bucket bucket;
  bucket.set = part.set;
  if (!part.tensors.empty()) {
    const Request& tensor = part.tensors.front();
    bucket.kind = tensor.kind;
    bucket.dtype = tensor.dtype;
    bucket.op = tensor.op;
  }
  plan_.buckets.push_back(std::move(bucket));
  append(plan_.buckets.size() - 1, std::move(part));
  return plan_.buckets.size() - 1;
}

void PlanBuilder::append(std::size_t position, Response part) {
  Bucket& bucket = plan_.buckets[position];
  bucket.bytes += bytes_of(part);
  bucket.responses.push_back(std::move(part));
}

Plan PlanBuilder::finish(std::uint64_t first_id) {
  for (Bucket& bucket : plan_.buckets) bucket.id = first_id++;
  return std::exchange(plan_, {});
}

}  // namespace unisono::plan
