// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "order/agree/validate.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/data/text.hpp"
#include "order/agree/rank_text.hpp"

namespace unisono::order {
namespace {

bool any_kind(Collective) { return true; }
bool carries_data(Collective kind) { return traits_of(kind).carries_data; }
bool reduces(Collective kind) { return traits_of(kind).reduces; }
bool has_same_shape(Collective kind) { return traits_of(kind).same_shape; }
bool has_free_rows(Collective kind) { return traits_of(kind).free_rows; }
bool has_root(Collective kind) { return traits_of(kind).has_root; }
bool is_sparse(Collective kind) { return traits_of(kind).sparse; }
bool is_about_sets(Collective kind) { return traits_of(kind).about_sets; }

std::string kind_value(const Request& r) { return upper_name(r.kind); }
std::string dtype_value(const Request& r) { return std::string(name_of(r.dtype)); }
std::string shape_value(const Request& r) { return to_string(r.shape); }
std::string rowless_shape(const Request& r) {
  std::string text = cat(r.shape.size(), " dimensions:");
  for (std::size_t i = 1; i < r.shape.size(); ++i) text += cat(" ", r.shape[i]);
  return text;
}
std::string op_value(const Request& r) { return std::string(name_of(r.op)); }
std::string root_value(const Request& r) { return cat(r.root); }
std::string codec_value(const Request& r) { return r.codec.empty() ? "none" : r.codec; }
std::string plan_codecs_value(const Request& r) {
  return r.plan_codecs.empty() ? "none" : r.plan_codecs;
}
std::string team_value(const Request& r) { return r.team == 0 ? "any" : cat(r.team); }
std::string device_value(const Request& r) {
  if (r.device == 0) return "CPU";
  return r.device == 1 ? "GPU" : cat("kind ", static_cast<int>(r.device));
}
std::string sparse_value(const Request& r) {
  const SparseAsk& ask = r.sparse;
  std::string text = cat("algorithm=", ask.algorithm.empty() ? "chosen" : ask.algorithm,
                         " expected_nnz=", ask.expected, " top_k=", ask.top_k);
  if (ask.allow_loss) text += " allow_loss";
  if (ask.same_indices) text += " same_indices";
  if (ask.refuse_overlap) text += " refuse_overlap";
  if (ask.gather_bits != 0) text += cat(" gather_bits=", static_cast<int>(ask.gather_bits));
  if (!ask.user_operator.empty()) text += cat(" operator=", ask.user_operator);
  return text;
}
std::string set_value(const Request& r) {
  if (r.kind == Collective::remove_process_set) return cat(r.root, " ", join_text(r.members));
  return cat("[", join_text(r.members), "]");
}
// Seventeen digits tell any two doubles apart; the shorter form is kept where it is exact.
std::string exact(double value) {
  std::array<char, 40> text{};
  for (const int digits : {9, 17}) {
    std::snprintf(text.data(), text.size(), "%.*g", digits, value);
    double back = 0;
    if (std::sscanf(text.data(), "%lf", &back) == 1 && back == value) break;
  }
  return text.data();
}
std::string scale_value(const Request& r) {
  return cat("(", exact(r.prescale), ", ", exact(r.postscale), ")");
}
std::string group_value(const Request& r) {
  return r.group.empty() ? "no group" : cat("group \"", r.group, "\" of ", r.group_size);
}

// One thing the members must agree on. In `head`, '%' stands for the collective in upper case.
struct Field {
  bool (*applies)(Collective);
  std::string (*key)(const Request&);    // members agree when their keys are equal
  std::string (*shown)(const Request&);
  std::string_view head, middle;
  std::string_view mend;
};

constexpr std::array kFields = {
    Field{any_kind, kind_value, kind_value, "Mismatched operations: One rank did an ",
          ", but another rank did an ", "Use one name for one collective only."},
    Field{carries_data, dtype_value, dtype_value, "Mismatched data types: One rank had type ",
          ", but another rank had type ", "Cast the tensor to the same type on every rank."},
    Field{any_kind, group_value, group_value, "Mismatched groups: One rank sent the tensor in ",
          ", but another rank sent it in ", "Group the same tensors on every rank."},
    Field{has_same_shape, shape_value, shape_value,
          "Mismatched % tensor shapes: One rank sent a tensor of shape ",
          ", but another rank sent a tensor of shape ", "Send the same shape on every rank."},
    Field{has_free_rows, rowless_shape, shape_value,
          "Mismatched % tensor shapes: One rank sent a tensor of shape ",
          ", but another rank sent a tensor of shape ",
          "All dimensions but the first must be the same on every rank."},
    Field{reduces, op_value, op_value,
          "Mismatched % reduction operators: One rank asked for ",
          ", but another rank asked for ", "Use the same operator on every rank."},
    Field{reduces, scale_value, scale_value,
          "Mismatched prescale and/or postscale factors: One rank sent factors ",
          ", but another rank sent factors ", "Use the same factors on every rank."},
    Field{has_root, root_value, root_value,
          "Mismatched % root ranks: One rank specified root rank ",
          ", but another rank specified root rank ", "Name the same root on every rank."},
    Field{carries_data, device_value, device_value,
          "Mismatched % CPU/GPU device selection: One rank specified device ",
          ", but another rank specified device ",
          "Put the tensor on the same kind of device on every rank."},
    Field{carries_data, codec_value, codec_value, "Mismatched codecs: One rank specified codec ",
          ", but another rank specified codec ", "Choose the same codec on every rank."},
    Field{carries_data, plan_codecs_value, plan_codecs_value,
          "Mismatched codecs of plans: One rank allowed plan_codecs ",
          ", but another rank allowed plan_codecs ", "Allow the same codecs on every rank."},
    Field{carries_data, team_value, team_value, "Mismatched teams: One rank specified team ",
          ", but another rank specified team ", "Name the same team on every rank."},
    Field{is_sparse, sparse_value, sparse_value,
          "Mismatched % settings: One rank specified ", ", but another rank specified ",
          "Pass the same settings on every rank."},
    Field{is_about_sets, set_value, set_value,
          "Mismatched % process sets: One rank specified ", ", but another rank specified ",
          "Pass the same ranks on every rank."},
};

Status refuse(const Request& request, std::string message) {
  return {Code::mismatch, std::move(message), {.rank = -1, .host = {}, .pid = 0,
                                               .tensor = request.name}};
}

std::string listing(std::span<const Submission> submissions,
                    std::string (*shown)(const Request&)) {
  std::vector<std::pair<Rank, std::string>> sent;
  for (const Submission& s : submissions) sent.emplace_back(s.rank, shown(*s.request));
  return cat("Tensor \"", submissions.front().request->name, "\": ", by_rank_text(sent), ". ");
}

Status compare(const Field& field, std::span<const Submission> submissions) {
  const Request& first = *submissions.front().request;
  const std::string key = field.key(first);
  const auto other = std::find_if(
      submissions.begin(), submissions.end(),
      [&](const Submission& s) { return field.key(*s.request) != key; });
  if (other == submissions.end()) return {};
  std::string head(field.head);
  if (const auto at = head.find('%'); at != std::string::npos) {
    head.replace(at, 1, upper_name(first.kind));
  }
  return refuse(first, cat(head, field.shown(first), field.middle, field.shown(*other->request),
                           ". ", listing(submissions, field.shown), field.mend));
}

std::string rows_value(const Request& r) {
  return cat(r.shape.empty() ? 0 : r.shape[0], " rows", r.uneven ? " in uneven parts" : "");
}

bool rows_fit(const Request& r, std::size_t members) {
  return !r.shape.empty() &&
         (r.uneven || r.shape[0] % static_cast<std::int64_t>(members) == 0);
}

// Requests may agree and still be impossible.
Status check_alone(std::span<const Submission> submissions, std::span<const Rank> members) {
  const Request& first = *submissions.front().request;
  if (first.kind == Collective::alltoall) {
    const bool fits = std::all_of(
        submissions.begin(), submissions.end(),
        [&](const Submission& s) { return rows_fit(*s.request, members.size()); });
    if (!fits) {
      return refuse(first,
                    cat("Invalid ALLTOALL rows: they do not divide into equal parts for the ",
                        members.size(), " members. ", listing(submissions, rows_value),
                        "Pass splits, or as many rows as divide."));
    }
  }
  if (first.kind == Collective::broadcast &&
      !std::binary_search(members.begin(), members.end(), first.root)) {
    return refuse(first, cat("Invalid BROADCAST root: rank ", first.root,
                             " is not in the process set (", ranks_text({members.begin(),
                                                                         members.end()}),
                             "). Name the root by its rank in the whole job."));
  }
  return {};
}

}  // namespace

Status validate(std::span<const Submission> submissions, std::span<const Rank> members) {
  const Collective kind = submissions.front().request->kind;
  for (const Field& field : kFields) {
    if (!field.applies(kind)) continue;
    if (Status status = compare(field, submissions); !status) return status;
  }
  return check_alone(submissions, members);
}

bool needs_own_check(Collective kind) {
  return kind == Collective::alltoall || kind == Collective::broadcast;
}

std::string upper_name(Collective kind) {
  std::string name(name_of(kind));
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

}  // namespace unisono::order
