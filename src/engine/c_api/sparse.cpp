// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Sparse collectives of the C interface.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/data/text.hpp"
#include "engine/c_api/handles.hpp"

using namespace unisono;
using namespace unisono::engine::c_api;

namespace {

constexpr std::size_t kLargestSparseCall = 4096;

struct CSparse {
  Collective kind;
  const char* name;
  unisono_dtype dtype;
  int64_t length;
  size_t count;
  unisono_dtype index_dtype;
  const void* indices;
  const void* values;
};

// As with unisono_call: no padding at the end, so that what is added makes the struct larger.
static_assert(sizeof(unisono_sparse_call) == offsetof(unisono_sparse_call, user_operator) +
                                                 sizeof(const unisono_sparse_operator*));

// As with unisono_call: a shorter struct keeps the defaults, a longer one may say nothing more.
Result<unisono_sparse_call> known_sparse_part(const unisono_sparse_call* given) {
  unisono_sparse_call call = unisono_sparse_call_init();
  if (given == nullptr) return call;
  if (given->size < sizeof call || given->size > kLargestSparseCall) {
    return wrong(cat("the size of unisono_sparse_call is ", given->size,
                     "; start from unisono_sparse_call_init()"));
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(given);
  for (std::size_t i = sizeof call; i < given->size; ++i) {
    if (bytes[i] != std::byte{0}) {
      return wrong(cat("unisono_sparse_call has settings that version ", version(),
                       " does not know; use the library that belongs to the header"));
    }
  }
  std::memcpy(&call, given, sizeof call);
  return call;
}

// A function that is null stays one, for the front door to say so.
std::shared_ptr<const SparseOperator> operator_from(const unisono_sparse_operator* given) {
  if (given == nullptr) return nullptr;
  SparseOperator made{.name = given->name == nullptr ? "" : given->name};
  void* const context = given->context;
  if (given->combine != nullptr) {
    made.combine = [call = given->combine, context](void* into, const void* other, size_t count) {
      call(into, other, count, context);
    };
  }
  if (given->fill_neutral != nullptr) {
    made.fill_neutral = [call = given->fill_neutral, context](void* out, size_t count) {
      call(out, count, context);
    };
  }
  return std::make_shared<const SparseOperator>(std::move(made));
}

Result<SparseSettings> sparse_settings_from(const unisono_call* call,
                                            const unisono_sparse_call* sparse) {
  auto common = settings_from(call);
  if (!common) return common.status();
  if (!common->codec.empty() && common->codec != "none") {
    return wrong(cat("codec '", common->codec, "' is for allreduce only"));
  }
  const auto more = known_sparse_part(sparse);
  if (!more.ok()) return more.status();
  const unisono_sparse_call& given = more.value();
  return SparseSettings{.op = common->op,
                        .prescale = common->prescale,
                        .postscale = common->postscale,
                        .process_set = common->process_set,
                        .priority = common->priority,
                        .team = common->team,
                        .algorithm = given.algorithm == nullptr ? "" : given.algorithm,
                        .expected_nnz = given.expected_nnz,
                        .allow_loss = given.allow_loss != 0,
                        .top_k = given.top_k,
                        .same_indices = given.same_indices != 0,
                        .refuse_overlap = given.refuse_overlap != 0,
                        .gather_bits = given.gather_bits,
                        .user_operator = operator_from(given.user_operator),
                        .on_done = std::move(common->on_done)};
}

Status no_result() { return wrong("the ticket has no sparse result; wait for it first"); }

int submit_sparse(unisono_engine* engine, const CSparse& given, const unisono_call* call,
                  const unisono_sparse_call* sparse, unisono_ticket** ticket) {
  return with_engine(engine, [&](Engine& target) -> Status {
    if (ticket == nullptr) return null_argument("the place for the ticket");
    *ticket = nullptr;
    if (given.name == nullptr) return null_argument("the name");
    const auto known = [](unisono_dtype dtype) {
      return static_cast<unsigned>(dtype) < static_cast<unsigned>(kDTypeCount);
    };
    if (!known(given.dtype) || !known(given.index_dtype)) {
      return wrong(cat("'", given.name, "': there is no such dtype"));
    }
    const auto settings = sparse_settings_from(call, sparse);
    if (!settings.ok()) return settings.status();
    const SparseOperand operand{.dtype = static_cast<DType>(given.dtype),
                                .index_dtype = static_cast<DType>(given.index_dtype),
                                .count = given.count,
                                .indices = given.indices,
                                .values = given.values,
                                .length = given.length};
    return hand_out(given.kind == Collective::sparse_allreduce
                        ? target.sparse_allreduce(given.name, operand, settings.value())
                        : target.sparse_allgather(given.name, operand, settings.value()),
                    ticket);
  });
}

}  // namespace

extern "C" {

int unisono_sparse_allreduce(unisono_engine* engine, const char* name, unisono_dtype dtype,
                             int64_t length, size_t count, unisono_dtype index_dtype,
                             const void* indices, const void* values, const unisono_call* call,
                             const unisono_sparse_call* sparse, unisono_ticket** ticket) {
  return submit_sparse(engine, {Collective::sparse_allreduce, name, dtype, length, count,
                                index_dtype, indices, values},
                       call, sparse, ticket);
}

int unisono_sparse_allgather(unisono_engine* engine, const char* name, unisono_dtype dtype,
                             int64_t length, size_t count, unisono_dtype index_dtype,
                             const void* indices, const void* values, const unisono_call* call,
                             const unisono_sparse_call* sparse, unisono_ticket** ticket) {
  return submit_sparse(engine, {Collective::sparse_allgather, name, dtype, length, count,
                                index_dtype, indices, values},
                       call, sparse, ticket);
}

int unisono_sparse_count(unisono_ticket* ticket, size_t* count, int* dense) {
  return guarded([&]() -> Status {
    if (ticket == nullptr) return null_argument("the ticket");
    const SparseResult result = ticket->ticket.sparse();
    if (result.memory == nullptr) return no_result();
    if (count != nullptr) *count = result.count;
    if (dense != nullptr) *dense = result.dense ? 1 : 0;
    return {};
  });
}

int unisono_sparse_copy(unisono_ticket* ticket, int64_t* indices, void* values, size_t capacity) {
  return guarded([&]() -> Status {
    if (ticket == nullptr) return null_argument("the ticket");
    const SparseResult result = ticket->ticket.sparse();
    if (result.memory == nullptr) return no_result();
    if (capacity < result.count) {
      return wrong(cat("there is room for ", capacity, " elements, and the result of '",
                       ticket->ticket.name(), "' has ", result.count,
                       "; unisono_sparse_count() tells"));
    }
    if (indices != nullptr) {
      for (std::size_t i = 0; i < result.count; ++i) indices[i] = result.index(i);
    }
    if (values != nullptr && result.count > 0) {
      std::memcpy(values, result.values.data(), result.values.size());
    }
    return {};
  });
}

const char* unisono_sparse_algorithm(unisono_ticket* ticket) {
  const std::string_view name = ticket == nullptr ? "" : ticket->ticket.sparse().algorithm;
  return name.empty() ? "" : name.data();   // names of a table end with a zero
}

}  // extern "C"
