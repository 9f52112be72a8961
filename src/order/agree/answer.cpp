// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/agree/answer.hpp"

#include <algorithm>

#include "base/data/text.hpp"
#include "order/agree/groups.hpp"
#include "order/agree/rank_text.hpp"
#include "order/agree/validate.hpp"

namespace unisono::order {
namespace {

// Whether the request can run although joined members contribute only the neutral element.
bool runs_without_joined(const Request& request) {
  if (request.kind == Collective::barrier) return true;
  // Who has joined does not have the operator of a caller.
  if (traits_of(request.kind).sparse) return request.sparse.user_operator.empty();
  return request.kind == Collective::allreduce &&
         (request.op <= ReduceOp::product || request.op == ReduceOp::adasum);
}

std::vector<std::uint32_t> absent_members(const Unit& unit, const JoinState& joins, int members) {
  std::vector<std::uint32_t> absent;
  if (!joins.any()) return absent;
  for (int i = 0; i < members; ++i) {
    if (!unit.arrived.test(i)) absent.push_back(static_cast<std::uint32_t>(i));
  }
  return absent;
}

Status check_absent(const Request& request, const std::vector<std::uint32_t>& absent,
                    const Members& members) {
  if (absent.empty() || runs_without_joined(request)) return {};
  std::vector<Rank> joined;
  for (const std::uint32_t i : absent) joined.push_back(members.rank_of(static_cast<int>(i)));
  const std::string with_op = request.kind == Collective::allreduce
                                  ? cat(" with operator ", name_of(request.op)) : std::string();
  return {Code::mismatch,
          cat(upper_name(request.kind), with_op, " is not supported while a rank has joined: ",
              ranks_text(joined), joined.size() == 1 ? " has" : " have",
              " joined and cannot take part in \"", request.name,
              "\". Run it before the first rank joins or after all have."),
          {.rank = joined.front(), .host = {}, .pid = 0, .tensor = request.name}};
}

// One per member that submitted, in order of rank.
std::vector<Submission> submissions_of(const Tensor& tensor, const Members& members) {
  std::vector<const Request*> sent(members.ranks.size(), &tensor.canonical);
  for (const auto& [member, request] : tensor.variants) {
    sent[static_cast<std::size_t>(member)] = request.get();
  }
  std::vector<Submission> submissions;
  for (int i = 0; i < members.count(); ++i) {
    if (!tensor.submitted.test(i)) continue;
    submissions.push_back({members.rank_of(i), sent[static_cast<std::size_t>(i)]});
  }
  return submissions;
}

Status check_tensor(const Tensor& tensor, const Members& members) {
  if (tensor.variants.empty() && !needs_own_check(tensor.canonical.kind)) return {};
  return validate(submissions_of(tensor, members), members.ranks);
}

Status check(const Unit& unit, const std::vector<std::uint32_t>& absent, const Members& members) {
  if (!unit.same_contents) return composition_error(unit, members);
  for (const auto& tensor : unit.tensors) {
    if (Status status = check_tensor(*tensor, members); !status) return status;
    if (Status status = check_absent(tensor->canonical, absent, members); !status) return status;
  }
  return {};
}

std::int64_t extent_of(const Request& request) {
  if (traits_of(request.kind).opens_team) {
    return static_cast<std::int64_t>(request.board_slots);
  }
  return request.shape.empty() ? 1 : request.shape.front();
}

std::vector<std::int64_t> extents_of(const Tensor& tensor, const Members& members) {
  std::vector<std::int64_t> extents;
  for (const Submission& submission : submissions_of(tensor, members)) {
    extents.push_back(extent_of(*submission.request));
  }
  return extents;
}

// One member's uneven rows make all of them exchange their splits.
bool anyone_uneven(const Tensor& tensor) {
  return tensor.canonical.uneven ||
         std::any_of(tensor.variants.begin(), tensor.variants.end(),
                     [](const auto& variant) { return variant.second->uneven; });
}

}  // namespace

Answer refuse(Unit unit, Status error) {
  Answer out;
  out.response.error = std::move(error);
  for (auto& tensor : unit.tensors) {
    out.response.tensors.push_back(std::move(tensor->canonical));
    out.counted.push_back(std::move(tensor->submitted));
  }
  return out;
}

Answer answer(Unit unit, const Members& members, const JoinState& joins) {
  auto absent = absent_members(unit, joins, members.count());
  if (Status error = check(unit, absent, members); !error) {
    return refuse(std::move(unit), std::move(error));
  }
  bool ragged = false, counted = false;
  bool alike = absent.empty();
  for (const auto& tensor : unit.tensors) {
    ragged |= traits_of(tensor->canonical.kind).has_extents();
    counted |= traits_of(tensor->canonical.kind).sparse;
    tensor->canonical.uneven = anyone_uneven(*tensor);
    alike &= tensor->variants.empty();
  }
  Answer out;
  out.alike = alike && !ragged && !counted;
  for (const auto& tensor : unit.tensors) {
    if (!ragged) break;
    out.response.extents.push_back(traits_of(tensor->canonical.kind).has_extents()
                                       ? extents_of(*tensor, members)
                                       : std::vector<std::int64_t>{});
  }
  out.response.absent = std::move(absent);
  out.response.tensors.reserve(unit.tensors.size());
  for (auto& tensor : unit.tensors) out.response.tensors.push_back(std::move(tensor->canonical));
  return out;
}

Answer answer_join(const JoinState& joins, const Members& members) {
  Answer out;
  out.response.tensors = joins.requests();
  out.response.value = members.rank_of(joins.last());
  return out;
}

}  // namespace unisono::order
