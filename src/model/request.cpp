// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "model/request.hpp"

namespace unisono {
namespace {

// What most requests have none of.
constexpr std::uint8_t kUneven = 1, kTeam = 2, kPlanCodecs = 4, kSparse = 8;

// What goes with a sparse kind is there for those, and for no other; no member has more elements
// than the vector.
bool sparse_fits(const Request& r, bool has_ask) {
  if (traits_of(r.kind).sparse != has_ask) return false;
  if (!has_ask) return true;
  if (r.shape.size() != 1 || r.shape.front() < 0) return false;
  const auto length = static_cast<std::uint64_t>(r.shape.front());
  return length <= kStreamLengthMax && r.sparse.nnz <= length && r.sparse.top_k <= length;
}

}  // namespace

void encode_request(const Request& r, ByteWriter& out) {
  out.put_text(r.name);
  out.put(r.kind);
  out.put(r.dtype);
  out.put(r.op);
  out.put(r.device);
  out.put_list(r.shape);
  out.put(r.prescale);
  out.put(r.postscale);
  out.put(static_cast<std::int32_t>(r.root));
  out.put(r.set);
  out.put(r.priority);
  out.put_text(r.codec);
  out.put_text(r.group);
  out.put(r.group_size);
  out.put(static_cast<std::uint8_t>((r.uneven ? kUneven : 0) | (r.team != 0 ? kTeam : 0) |
                                    (r.plan_codecs.empty() ? 0 : kPlanCodecs) |
                                    (traits_of(r.kind).sparse ? kSparse : 0)));
  if (r.team != 0) out.put(r.team);
  if (!r.plan_codecs.empty()) out.put_text(r.plan_codecs);
  if (traits_of(r.kind).sparse) encode_sparse_ask(r.sparse, out);
  out.put(r.board_slots);
  out.put_list(r.members);
}

Request decode_request(ByteReader& in) {
  Request r;
  r.name = in.get_text();
  r.kind = in.get<Collective>();
  r.dtype = in.get<DType>();
  r.op = in.get<ReduceOp>();
  r.device = in.get<std::uint8_t>();
  r.shape = in.get_list<std::int64_t>();
  r.prescale = in.get<double>();
  r.postscale = in.get<double>();
  r.root = in.get<std::int32_t>();
  r.set = in.get<SetId>();
  r.priority = in.get<std::int32_t>();
  r.codec = in.get_text();
  r.group = in.get_text();
  r.group_size = in.get<std::uint32_t>();
  const auto rare = in.get<std::uint8_t>();
  r.uneven = (rare & kUneven) != 0;
  if ((rare & kTeam) != 0) r.team = in.get<std::uint32_t>();
  if ((rare & kPlanCodecs) != 0) r.plan_codecs = in.get_text();
  if ((rare & kSparse) != 0) r.sparse = decode_sparse_ask(in);
  r.board_slots = in.get<std::uint64_t>();
  r.members = in.get_list<Rank>();
  const bool is_known = known(r.kind) && static_cast<int>(r.dtype) < kDTypeCount &&
                        static_cast<int>(r.op) < kReduceOpCount;
  const bool names_nothing = ((rare & kTeam) != 0 && r.team == 0) ||
                             ((rare & kPlanCodecs) != 0 && r.plan_codecs.empty());
  // A removal names exactly one set; an added set has members.
  const NamesRanks names = traits_of(r.kind).names_ranks;
  const bool names_ranks = names == NamesRanks::none ||
                           (names == NamesRanks::one ? r.members.size() == 1 : !r.members.empty());
  if (!names_ranks || names_nothing || rare > (kUneven | kTeam | kPlanCodecs | kSparse) ||
      !sparse_fits(r, (rare & kSparse) != 0) || r.board_slots > INT64_MAX) {
    in.fail();
  }
  // Sizes in bytes must not overflow either; nothing has elements of more than 8 bytes.
  const auto elements = element_count(r.shape);
  if (!is_known || !elements || *elements > INT64_MAX / 8) in.fail();
  return r;
}

}  // namespace unisono
