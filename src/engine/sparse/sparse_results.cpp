// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/sparse/sparse_results.hpp"

#include "stream/stream.hpp"

namespace unisono::engine {
namespace {

SparseResult shown(std::shared_ptr<const stream::Stream> from) {
  const stream::View view = from->view();
  SparseResult result;
  result.dtype = view.dtype();
  result.length = static_cast<std::int64_t>(view.length);
  result.dense = view.dense;
  result.count = view.nnz();
  if (view.pairs.narrow != nullptr) result.indices32 = {view.pairs.narrow, result.count};
  if (view.pairs.wide != nullptr) result.indices64 = {view.pairs.wide, result.count};
  result.values = from->values();
  result.memory = std::move(from);
  return result;
}

}  // namespace

SparseResult sparse_result(const TicketState& ticket) {
  if (ticket.sparse == nullptr) return {};
  SparseResult result = shown(ticket.sparse);
  result.op = ticket.op;
  result.user_operator = ticket.user_operator;
  result.algorithm = ticket.algorithm;
  return result;
}

SparseResult sparse_pairs(const SparseResult& dense) {
  stream::View all;
  all.length = static_cast<std::uint64_t>(dense.length);
  all.dense = true;
  all.pairs.dtype = dense.dtype;
  all.pairs.count = dense.count;
  all.pairs.values = dense.values.data();
  auto few = std::make_shared<stream::Stream>(stream::Stream::copy_of(all));
  few->sparsify({.op = dense.op, .user = dense.user_operator.get()});
  SparseResult result = shown(std::move(few));
  result.op = dense.op;
  result.user_operator = dense.user_operator;
  result.algorithm = dense.algorithm;
  return result;
}

}  // namespace unisono::engine
