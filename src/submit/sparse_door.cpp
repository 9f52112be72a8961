// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "submit/sparse_door.hpp"

#include <cmath>
#include <optional>
#include <vector>

#include "base/data/text.hpp"
#include "kernels/kernels.hpp"

namespace unisono::submit {
namespace {

class Door {
 public:
  Door(Collective kind, std::string_view name, const SparseOperand& operand,
       const SparseSettings& settings)
      : kind_(kind), name_(name), operand_(operand), settings_(settings) {}

  Status wrong(std::string what) const {
    return Status(Code::invalid_argument,
                  cat(name_of(kind_), " '", name_, "': ", std::move(what)),
                  Culprit{.rank = -1, .host = {}, .pid = 0, .tensor = std::string(name_)});
  }

  Status check_operand() const {
    const SparseOperand& o = operand_;
    if (static_cast<int>(o.dtype) >= kDTypeCount) return wrong("unknown dtype");
    if (o.length < 0 || static_cast<std::uint64_t>(o.length) > kStreamLengthMax) {
      return wrong(cat("length ", o.length, " is not from 0 to ", kStreamLengthMax,
                       "; give the number of elements of the whole vector"));
    }
    if (o.count == SIZE_MAX) {
      return wrong("there are not as many indices as values; give one index for each value");
    }
    if (o.count > 0 && (o.indices == nullptr || o.values == nullptr)) {
      return wrong("the indices or the values are null");
    }
    switch (o.index_dtype) {
      case DType::i32: case DType::i64: case DType::u32: case DType::u64: return {};
      default: break;
    }
    return wrong(cat("indices are ", name_of(o.index_dtype),
                     "; give int32, int64, uint32 or uint64"));
  }

  Status check_settings() const {
    const SparseSettings& s = settings_;
    if (static_cast<int>(s.op) >= kReduceOpCount) return wrong("unknown operator");
    const bool logical = s.op == ReduceOp::logical_and || s.op == ReduceOp::logical_or;
    if (s.user_operator == nullptr &&
        (s.op == ReduceOp::adasum || (logical && operand_.dtype != DType::boolean))) {
      return wrong(cat("operator ", name_of(s.op), " does not take absent elements of ",
                       name_of(operand_.dtype), "; use sum, average, min, max or product"));
    }
    if (!std::isfinite(s.prescale) || !std::isfinite(s.postscale)) {
      return wrong("scale factors must be finite");
    }
    const bool adds =
        (s.op == ReduceOp::sum || s.op == ReduceOp::average) && s.user_operator == nullptr;
    if ((s.prescale != 1 || s.postscale != 1) && (!adds || operand_.dtype == DType::boolean)) {
      return wrong("scale factors are for sums and averages of numbers only");
    }
    if (s.top_k > static_cast<std::uint64_t>(operand_.length)) {
      return wrong(cat("top_k is ", s.top_k, ", but the vector has ", operand_.length,
                       " elements only"));
    }
    const bool knows_bits =
        s.gather_bits == 0 || s.gather_bits == 2 || s.gather_bits == 4 || s.gather_bits == 8;
    if (!knows_bits) return wrong(cat("gather_bits is ", s.gather_bits, "; give 2, 4, 8, or 0"));
    if (s.gather_bits != 0 && (!adds || operand_.dtype != DType::f32 || !s.allow_loss)) {
      return wrong("gather_bits is for sums and averages of float32, with allow_loss");
    }
    if (s.refuse_overlap && kind_ != Collective::sparse_allgather) {
      return wrong("refuse_overlap is for sparse_allgather only");
    }
    return {};
  }

  Status check_user_operator() const {
    constexpr std::size_t kOperatorNameMax = 256;
    const SparseOperator* user = settings_.user_operator.get();
    if (user == nullptr) return {};
    if (user->name.empty() || user->name.size() > kOperatorNameMax) {
      return wrong("the name of an operator has 1 to 256 bytes; ranks compare it");
    }
    if (!user->combine || !user->fill_neutral) {
      return wrong(cat("operator '", user->name, "' lacks combine or fill_neutral"));
    }
    if (settings_.algorithm == "oktopk") {
      return wrong("algorithm 'oktopk' is for operators of the engine only");
    }
    return {};
  }

  Status check_algorithm(KnownAlgorithm known_algorithm) const {
    if (settings_.algorithm.empty()) return {};
    if (!known_algorithm(kind_, settings_.algorithm)) {
      return wrong(cat("unknown algorithm '", settings_.algorithm,
                       "'; docs/COMPRESSION.md names them, and \"\" lets the engine choose"));
    }
    if (settings_.algorithm != "oktopk") return {};
    if (!settings_.allow_loss) {
      return wrong("algorithm 'oktopk' leaves elements out; set allow_loss if that is wanted");
    }
    return {};
  }

  Result<std::vector<std::uint64_t>> indices() const {
    switch (operand_.index_dtype) {
      case DType::i32: return widened<std::int32_t>();
      case DType::u32: return widened<std::uint32_t>();
      case DType::i64: return widened<std::int64_t>();
      default: return widened<std::uint64_t>();
    }
  }

 private:
  template <typename Index>
  Result<std::vector<std::uint64_t>> widened() const {
    const std::span<const Index> given(static_cast<const Index*>(operand_.indices),
                                       operand_.count);
    const auto length = static_cast<std::uint64_t>(operand_.length);
    std::vector<std::uint64_t> out(given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      // What is negative becomes more than any length.
      out[i] = static_cast<std::uint64_t>(given[i]);
      if (out[i] < length) continue;
      return wrong(cat("index ", given[i], ", number ", i, " of ", given.size(),
                       ", is not from 0 to ", operand_.length - 1, "; the length is ",
                       operand_.length));
    }
    return out;
  }

  const Collective kind_;
  const std::string_view name_;
  const SparseOperand& operand_;
  const SparseSettings& settings_;
};

}  // namespace

Result<SparseEntry> make_sparse_entry(Collective kind, std::string_view name,
                                      const SparseOperand& operand, const SparseSettings& settings,
                                      const Members* members, const CodecChoice& codecs,
                                      KnownAlgorithm known_algorithm) {
  const Door door(kind, name, operand, settings);
  if (!traits_of(kind).sparse) return door.wrong("this is no sparse collective");
  if (name.starts_with(kReservedPrefix)) {
    return door.wrong(cat("names that begin with '", kReservedPrefix,
                          "' are the engine's own; choose another"));
  }
  if (auto status = door.check_operand(); !status) return status;
  if (auto status = door.check_settings(); !status) return status;
  if (auto status = door.check_user_operator(); !status) return status;
  if (auto status = door.check_algorithm(known_algorithm); !status) return status;
  // What has nothing to do with sparseness is checked as for everything else.
  auto request = make_request(
      {.kind = kind, .name = std::string(name), .dtype = operand.dtype, .shape = {operand.length},
       .input = &operand},
      {.op = settings.user_operator ? ReduceOp::sum : settings.op,
       .prescale = settings.prescale, .postscale = settings.postscale,
       .process_set = settings.process_set, .priority = settings.priority,
       .team = settings.team},
      members, codecs);
  if (!request) return request.status();

  auto indices = door.indices();
  if (!indices) return indices.status();
  const kernels::Operator op{.op = request->op, .user = settings.user_operator.get()};
  auto made = stream::Stream::from_pairs(operand.dtype, static_cast<std::uint64_t>(operand.length),
                                         *indices, operand.values, op);
  if (!made) return door.wrong(made.status().message());
  if (settings.prescale != 1) {
    std::byte* const values = made->values().data();
    kernels::scale(operand.dtype, values, values, settings.prescale, made->nnz());
  }
  const auto length = static_cast<std::uint64_t>(operand.length);
  const std::uint64_t nnz = rounded_nnz(made->nnz(), length);
  request->sparse = {.nnz = settings.expected_nnz != 0 ? 0 : nnz,
                     .expected = std::min(settings.expected_nnz, length),
                     .top_k = settings.top_k,
                     .allow_loss = settings.allow_loss,
                     .same_indices = settings.same_indices,
                     .refuse_overlap = settings.refuse_overlap,
                     .gather_bits = static_cast<std::uint8_t>(settings.gather_bits),
                     .algorithm = settings.algorithm,
                     .user_operator = settings.user_operator ? settings.user_operator->name : ""};
  return SparseEntry{std::move(*request),
                     std::make_shared<const stream::Stream>(std::move(made).value())};
}

}  // namespace unisono::submit
