// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/make_run.hpp"

#include "base/data/text.hpp"
#include "model/options/choices.hpp"
#include "model/options/registry.hpp"
#include "move/local/local.hpp"
#include "run/kinds/kinds.hpp"
#include "run/row_split.hpp"

namespace unisono::run {
namespace {

// Holds the tickets until they are failed.
class RefusedRun final : public BucketRun {
 public:
  RefusedRun(RunParts parts, Status why)
      : BucketRun(std::move(parts.bucket), std::move(parts.pendings), parts.context),
        why_(std::move(why)) {}
  Status start() override { return why_; }
  move::Step step() override { return move::Step::waiting; }
  const Status& trouble() const override { return why_; }

 private:
  const Status why_;
};

bool is_adasum(const Bucket& bucket) {
  return bucket.kind == Collective::allreduce && bucket.op == ReduceOp::adasum;
}

// How much of a window a tensor of the bucket takes.
std::size_t window_bytes(const Bucket& bucket, const Response& response, std::size_t index,
                         const encode::Codec& codec) {
  const Request& request = response.tensors[index];
  if (index < response.extents.size() && !response.extents[index].empty()) {
    std::int64_t rows = 0;
    for (const std::int64_t n : response.extents[index]) rows += n;
    return static_cast<std::size_t>(rows) * row_bytes(request);
  }
  if (bucket.kind != Collective::allreduce) return request.bytes();
  return codec.wire_bytes(bucket.dtype, static_cast<std::size_t>(request.elements()));
}

bool fits_shared_memory(const RunParts& parts, const encode::Codec& codec) {
  if (parts.context.team == nullptr) return false;
  std::size_t bytes = 0, tensors = 0;
  for (const Response& response : parts.bucket.responses) {
    for (std::size_t i = 0; i < response.tensors.size(); ++i, ++tensors) {
      bytes += window_bytes(parts.bucket, response, i, codec);
    }
  }
  if (parts.bucket.kind == Collective::allreduce && !is_adasum(parts.bucket)) {
    bytes = move::local_allreduce_window(parts.context.members->count(), bytes);
  } else if (is_adasum(parts.bucket)) {
    bytes += 64 + move::local_adasum_extra(parts.context.members->count(), tensors);
  }
  return bytes <= parts.context.team->window_max();
}

// Small buckets are better off in one buffer, with their votes behind them: fewer messages. So are
// many members, each of which would have to be told every vote.
constexpr std::size_t kDirectBytesMin = 16 << 10;

// Every member must find the same answer, so it depends on what all have agreed on alone.
bool moves_direct(const RunParts& parts, const encode::Codec& codec) {
  const Bucket& bucket = parts.bucket;
  if (bucket.bytes <= kDirectBytesMin || codec.wire_dtype(bucket.dtype) != bucket.dtype ||
      parts.context.members->count() > move::kDirectMembersMax) {
    return false;
  }
  const move::MoveContext context{.members = parts.context.members, .host = parts.context.host};
  return move::runs_direct(parts.choice.algorithm, context, bucket.dtype, bucket.bytes);
}

// What was planned for the bucket comes before what its channel has tried.
Choice choose(const RunParts& parts, const encode::Codec& codec) {
  const Bucket& bucket = parts.bucket;
  const std::string_view planned = bucket.responses.front().method.algorithm;
  if (!planned.empty()) {
    // The choice outlives the bucket's text.
    const auto* row = find_row(kAllreduceChoices, planned);
    return {row == nullptr ? algorithm_of(*parts.context.options) : row->name};
  }
  if (parts.context.selector == nullptr) return {algorithm_of(*parts.context.options)};
  const DType wire = codec.wire_dtype(bucket.dtype);
  return parts.context.selector->choose(
      {.dtype = wire, .bytes = bucket.bytes / size_of(bucket.dtype) * size_of(wire),
       .encoded = wire != bucket.dtype},
      parts.context.clock->now());
}

std::unique_ptr<BucketRun> make_kind(RunParts parts) {
  const Request& first = parts.bucket.responses.front().tensors.front();
  const std::string name(codec_of(parts.bucket));
  if (parts.bucket.kind == Collective::allreduce && !is_cast(name)) {
    if (auto packed = parse_codec(name); packed.ok()) {
      parts.context.team = nullptr;
      return make_packet_run(std::move(parts), *packed);
    }
  }
  const encode::Codec* codec = encode::find_codec(name);
  if (codec == nullptr) {
    Status why(Code::internal, cat("the ranks agreed on codec '", name, "' for '",
                                   first.name, "', which this rank does not have; run the same "
                                   "version everywhere"));
    return std::make_unique<RefusedRun>(std::move(parts), std::move(why));
  }
  if (traits_of(parts.bucket.kind).sparse) {
    parts.context.team = nullptr;
    return make_sparse_run(std::move(parts));
  }
  if (!fits_shared_memory(parts, *codec)) parts.context.team = nullptr;
  const bool local = parts.context.team != nullptr;
  if (parts.bucket.kind != Collective::allreduce) {
    return local ? make_local_tensor_run(std::move(parts))
                 : make_message_tensor_run(std::move(parts));
  }
  if (local) return make_local_run(std::move(parts), *codec);
  if (is_adasum(parts.bucket)) return make_adasum_run(std::move(parts), *codec);
  parts.choice = choose(parts, *codec);
  return moves_direct(parts, *codec) ? make_direct_run(std::move(parts), *codec)
                                     : make_fused_run(std::move(parts), *codec);
}

}  // namespace

std::unique_ptr<BucketRun> make_run(Bucket bucket, std::vector<Pending> pendings,
                                    RunContext context, std::optional<PlanVote> settled) {
  RunParts parts{std::move(bucket), std::move(pendings), context};
  if (!settled && needs_ballot(parts.bucket)) return make_ballot_run(std::move(parts));
  if (settled) parts.bucket.responses.front().vote = *settled;
  std::unique_ptr<BucketRun> run = make_kind(std::move(parts));
  if (settled) run->settle(*settled);
  return run;
}

}  // namespace unisono::run
