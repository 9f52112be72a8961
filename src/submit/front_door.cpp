// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "submit/front_door.hpp"

#include <algorithm>
#include <cmath>

#include "base/data/text.hpp"
#include "model/options/option_values.hpp"

namespace unisono::submit {
namespace {

constexpr std::size_t kNameMax = 4096;

bool is_float(DType dtype) { return dtype <= DType::f8e5m2; }

Status wrong(const Operation& operation, std::string what) {
  return Status(Code::invalid_argument,
                cat(name_of(operation.kind), " '", operation.name, "': ", std::move(what)),
                Culprit{.rank = -1, .host = {}, .pid = 0, .tensor = operation.name});
}

Status check_tensor(const Operation& operation, const Settings& settings) {
  if (static_cast<int>(operation.dtype) >= kDTypeCount) return wrong(operation, "unknown dtype");
  const auto count = element_count(operation.shape);
  if (!count || *count > INT64_MAX / 8) {
    return wrong(operation, cat("shape ", to_string(operation.shape),
                                " is negative somewhere or too large"));
  }
  if (*count > 0 && operation.input == nullptr) return wrong(operation, "the input is null");
  if (traits_of(operation.kind).divides_rows && operation.shape.empty()) {
    return wrong(operation, "a 0-d tensor has no rows to divide; give it shape [1]");
  }
  if (traits_of(operation.kind).divides_rows && operation.output != nullptr) {
    return wrong(operation, "its result's size is agreed by all ranks: read it from the ticket");
  }
  if (!traits_of(operation.kind).reduces) return {};
  if (static_cast<int>(settings.op) >= kReduceOpCount) return wrong(operation, "unknown operator");
  const bool logical = settings.op == ReduceOp::logical_and || settings.op == ReduceOp::logical_or;
  if (logical && is_float(operation.dtype)) {
    return wrong(operation, cat(name_of(settings.op), " is for booleans and integers, not ",
                                name_of(operation.dtype)));
  }
  if (settings.op == ReduceOp::adasum) {
    if (operation.kind == Collective::reducescatter) {
      return Status(Code::mismatch, cat(name_of(operation.kind), " '", operation.name,
                                        "': Adasum is for allreduce only"),
                    Culprit{.rank = -1, .host = {}, .pid = 0, .tensor = operation.name});
    }
    if (operation.dtype > DType::bf16) {
      return wrong(operation, cat("Adasum is for float16, bfloat16, float32 and float64, not ",
                                  name_of(operation.dtype)));
    }
  }
  if (!std::isfinite(settings.prescale) || !std::isfinite(settings.postscale)) {
    return wrong(operation, "scale factors must be finite");
  }
  if (operation.dtype == DType::boolean && (settings.prescale != 1 || settings.postscale != 1)) {
    return wrong(operation, "booleans cannot be scaled");
  }
  return {};
}

// Returns whether the splits are uneven. Equal parts are even, whether given or left out.
Result<bool> check_splits(const Operation& operation, const Settings& settings, int members) {
  const std::int64_t rows = operation.shape[0];
  const std::vector<std::int64_t>& splits = settings.splits;
  if (splits.empty()) {
    if (rows % members == 0) return false;
    return wrong(operation, cat("first dimension ", rows, " does not divide into ", members,
                                " equal parts; pass splits"));
  }
  if (splits.size() != static_cast<std::size_t>(members)) {
    return wrong(operation, cat("splits has ", splits.size(), " entries, the process set has ",
                                members, " members"));
  }
  if (std::any_of(splits.begin(), splits.end(), [](auto n) { return n < 0; })) {
    return wrong(operation, cat("splits must not be negative: [", join_text(splits), "]"));
  }
  // Uses numbers that cannot overflow: the caller may pass any splits.
  std::uint64_t sum = 0;
  for (const std::int64_t n : splits) {
    sum = std::min<std::uint64_t>(sum + static_cast<std::uint64_t>(n), INT64_MAX);
  }
  if (sum != static_cast<std::uint64_t>(rows)) {
    return wrong(operation, cat("splits [", join_text(splits), "] add up to ", sum,
                                ", the first dimension is ", rows));
  }
  return std::any_of(splits.begin(), splits.end(), [&](auto n) { return n != splits.front(); });
}

// Whether a codec that is no cast can take the tensor: it adds up floats.
Status check_packable(const Operation& operation, const Settings& settings, const CodecSpec& codec) {
  if (operation.dtype > DType::bf16) {
    return wrong(operation, cat("codec '", codec.text(), "' is for float32, float64, float16 and "
                                "bfloat16, not ", name_of(operation.dtype)));
  }
  if (settings.op != ReduceOp::sum && settings.op != ReduceOp::average) {
    return wrong(operation, cat("codec '", codec.text(), "' is for sums and averages, not ",
                                name_of(settings.op)));
  }
  if (codec.feedback && is_made_up(operation.name)) {
    return wrong(operation, cat("codec '", codec.text(), "' keeps what was not sent by the name of "
                                "the tensor; give it one"));
  }
  if (element_count(operation.shape).value_or(0) > UINT32_MAX) {
    return wrong(operation, cat("codec '", codec.text(), "' takes up to 4294967295 elements; send "
                                "the tensor in parts"));
  }
  return {};
}

// Python puts the call before the name of a tensor, which rules do not know of.
std::string_view ruled_name(const Operation& operation) {
  constexpr std::string_view kCall = "allreduce.";
  const std::string_view name = operation.name;
  return name.starts_with(kCall) ? name.substr(kCall.size()) : name;
}

// "" stands for "none", so that ranks which ask for it and ranks which ask for nothing agree; other
// codecs have one text each. What the caller did not ask for by itself is left out where the tensor
// does not suit it.
Result<std::string> choose_codec(const Operation& operation, const Settings& settings,
                                 const CodecChoice& codecs) {
  const bool asked = !settings.codec.empty();
  const CodecSpec* ruled = asked ? nullptr : codecs.rules.find(ruled_name(operation));
  const auto parsed = ruled != nullptr ? Result<CodecSpec>(*ruled)
                                       : parse_codec(asked ? settings.codec : codecs.usual);
  if (!parsed.ok()) return wrong(operation, parsed.status().message());
  const CodecSpec& codec = parsed.value();
  if (codec == CodecSpec{}) return std::string();
  if (!traits_of(operation.kind).encodes) {
    if (asked) return wrong(operation, cat("codec '", codec.text(), "' is for allreduce only"));
    return std::string();
  }
  if (!codec.is_cast()) {
    if (auto status = check_packable(operation, settings, codec); !status) {
      if (asked) return status;
      return std::string();
    }
  }
  return codec.text();
}

// A tensor that names a codec, "none" too, keeps it. Lists that name the same codecs become the same
// text.
Result<std::string> choose_plan_codecs(const Operation& operation, const Settings& settings,
                                       const CodecChoice& codecs) {
  const auto allowed =
      parse_plan_codecs(settings.plan_codecs.empty() ? codecs.planned : settings.plan_codecs);
  if (!allowed.ok()) return wrong(operation, allowed.status().message());
  const bool wide = operation.dtype == DType::f32 || operation.dtype == DType::f64;
  const bool adds = settings.op == ReduceOp::sum || settings.op == ReduceOp::average;
  if (!traits_of(operation.kind).encodes || !wide || !adds || !settings.codec.empty() ||
      codecs.usual != "none" || codecs.rules.find(ruled_name(operation)) != nullptr) {
    return std::string();
  }
  std::vector<std::string> chosen;
  for (const CodecSpec& codec : allowed.value()) {
    // One that asks for more of a tensor than this one has is left out.
    if (codec.is_cast() || check_packable(operation, settings, codec).ok()) {
      chosen.push_back(codec.text());
    }
  }
  return join_text(chosen, ",");
}

}  // namespace

Status check_open_to_callers(const Operation& operation) {
  if (!traits_of(operation.kind).moves) {
    return Status(Code::invalid_argument,
                  cat("'", operation.name, "': submit() takes tensors and barriers only, not ",
                      known(operation.kind) ? name_of(operation.kind) : "an unknown collective",
                      "; join_ranks(), add_process_set(), remove_process_set(), prepare() and "
                      "switch_order() are calls of their own"),
                  Culprit{.rank = -1, .host = {}, .pid = 0, .tensor = operation.name});
  }
  if (traits_of(operation.kind).sparse) {
    return wrong(operation, "sparse collectives have calls of their own, which take indices: "
                            "sparse_allreduce() and sparse_allgather()");
  }
  if (operation.name.starts_with(kReservedPrefix)) {
    return wrong(operation, cat("names that begin with '", kReservedPrefix,
                                "' are the engine's own; choose another"));
  }
  return {};
}

Result<Request> make_request(const Operation& operation, const Settings& settings,
                             const Members* members, const CodecChoice& codecs) {
  if (!known(operation.kind)) {
    return Status(Code::invalid_argument,
                  cat("'", operation.name, "': collective ", static_cast<int>(operation.kind),
                      " is unknown"));
  }
  if (operation.name.empty()) return wrong(operation, "the name is empty");
  if (operation.name.size() > kNameMax) return wrong(operation, "the name is over 4096 bytes");
  if (members == nullptr) {
    return wrong(operation, cat("there is no process set ", settings.process_set,
                                "; add_process_set() gives ids"));
  }
  if (members->me < 0) {
    return wrong(operation, cat("this rank is not in process set ", settings.process_set, " (",
                                join_text(members->ranks), ")"));
  }
  Request request;
  request.name = operation.name;
  request.kind = operation.kind;
  request.set = settings.process_set;
  request.priority = settings.priority;
  if (settings.team < 0 || settings.team > codecs.teams) {
    return wrong(operation, cat("there is no team ", settings.team, ": the option teams is ",
                                codecs.teams, ", so that teams are 1 to ", codecs.teams,
                                ", or 0 for any; raise teams, on every rank"));
  }
  request.team = static_cast<std::uint32_t>(settings.team);
  auto codec = choose_codec(operation, settings, codecs);
  if (!codec) return codec.status();
  request.codec = std::move(*codec);
  auto plan_codecs = choose_plan_codecs(operation, settings, codecs);
  if (!plan_codecs) return plan_codecs.status();
  request.plan_codecs = std::move(*plan_codecs);
  if (traits_of(operation.kind).carries_data) {
    if (auto status = check_tensor(operation, settings); !status) return status;
    request.dtype = operation.dtype;
    request.shape = operation.shape;
  }
  if (traits_of(operation.kind).reduces) {
    request.op = settings.op;
    request.prescale = settings.prescale;
    request.postscale = settings.postscale;
  }
  if (traits_of(operation.kind).has_root) {
    if (members->index_of(settings.root) < 0) {
      return wrong(operation, cat("root rank ", settings.root, " is not in the process set (",
                                  join_text(members->ranks), ")"));
    }
    request.root = settings.root;
  }
  if (operation.kind == Collective::alltoall) {
    auto uneven = check_splits(operation, settings, members->count());
    if (!uneven) return uneven.status();
    request.uneven = *uneven;
  }
  request.members = operation.members;
  return request;
}

}  // namespace unisono::submit
