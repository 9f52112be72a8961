// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/program/call.hpp"

#include <algorithm>

#include "base/data/hash.hpp"
#include "base/data/text.hpp"
#include "order/topo/plan.hpp"

namespace unisono::order {
namespace {

// A description lists so many tensors of a group.
constexpr std::size_t kListedMax = 4;

// What of a request members must have in common.
Request common_part(Request request) {
  const CollectiveTraits& traits = traits_of(request.kind);
  if (!is_named(request.name)) request.name.clear();
  if (!is_named(request.group)) request.group.clear();
  if (traits.free_rows && !request.shape.empty()) request.shape.front() = 0;
  if (!traits.reduces) {
    request.op = ReduceOp::sum;
    request.prescale = request.postscale = 1;
  }
  if (!traits.has_root) request.root = 0;
  request.uneven = false;
  request.priority = 0;
  request.sparse.nnz = request.sparse.nnz_sum = 0;
  return request;
}

std::string describe(const Request& request) {
  const CollectiveTraits& traits = traits_of(request.kind);
  std::string text(traits.name);
  if (is_named(request.name)) text += cat(" \"", request.name, "\"");
  if (traits.carries_data) {
    text += cat(" of ", name_of(request.dtype), " ", to_string(request.shape));
  }
  if (traits.reduces) text += cat(", ", name_of(request.op));
  if (request.prescale != 1 || request.postscale != 1) {
    text += cat(" with factors (", request.prescale, ", ", request.postscale, ")");
  }
  if (traits.has_root) text += cat(" from root ", request.root);
  if (!request.codec.empty()) text += cat(" by codec ", request.codec);
  if (request.device != 0) text += " on a device";
  return text;
}

}  // namespace

bool is_named(std::string_view name) {
  return name.find(".noname.") == std::string_view::npos && !name.starts_with("unisono.barrier/");
}

bool runs_unasked(const Call& call, const Members& members) {
  const Request& first = call.first();
  if (!traits_of(first.kind).moves) return false;
  if (call.requests.size() > 1) return plannable(call.requests);
  if (first.kind == Collective::broadcast) return members.index_of(first.root) >= 0;
  if (first.kind == Collective::alltoall) {
    return !first.shape.empty() && (first.uneven || first.shape.front() % members.count() == 0);
  }
  return true;
}

std::uint64_t hash_of(const Call& call, std::uint64_t position) {
  ByteWriter bytes;
  bytes.put(position);
  bytes.put(static_cast<std::uint64_t>(call.requests.size()));
  for (const Request& request : call.requests) encode_request(common_part(request), bytes);
  // The lowest bit is not compared, and tells it from no call at all.
  return hash_bytes(bytes.bytes()) | 1;
}

Response unasked(const Call* call, SetId set, std::uint64_t position) {
  Response response;
  response.sequence = position;
  response.set = set;
  response.planned = true;
  if (call != nullptr) {
    response.call = hash_of(*call, position);
    response.tensors = call->requests;
    return response;
  }
  response.vote = PlanVote::abort;
  response.call = 1;
  response.tensors.push_back({});
  response.tensors.front().name = meeting_name(position);
  response.tensors.front().kind = Collective::barrier;
  response.tensors.front().set = set;
  return response;
}

std::string describe(const Call& call) {
  if (call.first().group.empty()) return describe(call.first());
  std::vector<std::string> listed;
  for (std::size_t i = 0; i < std::min(kListedMax, call.requests.size()); ++i) {
    listed.push_back(describe(call.requests[i]));
  }
  const std::size_t more = call.requests.size() - listed.size();
  return cat("a group of ", call.requests.size(), " (", join_text(listed),
             more > 0 ? cat(" and ", more, " more") : std::string(), ")");
}

std::string meeting_name(std::uint64_t position) { return cat("unisono.program/", position); }

std::vector<Request> at_meeting(const Call& call, std::uint64_t position) {
  std::vector<Request> requests = call.requests;
  if (call.first().kind == Collective::join) return requests;
  const std::string name = meeting_name(position);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].name = i == 0 ? name : cat(name, "/", i);
    if (!requests[i].group.empty()) requests[i].group = cat(name, "/group");
  }
  return requests;
}

}  // namespace unisono::order
