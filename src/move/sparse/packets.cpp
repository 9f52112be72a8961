// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/sparse/packets.hpp"

#include "base/data/text.hpp"

namespace unisono::move {

namespace {

Status blamed_on(Rank rank, const Status& why) {
  return Status(why.code(), cat("from rank ", rank, ": ", why.message()), Culprit{.rank = rank});
}

}  // namespace

PacketSender::PacketSender(const MoveContext& context, int member, unsigned channel,
                           SharedPacket packet)
    : packet_(std::move(packet)),
      header_(context, member, channel_phase(channel)),
      payload_(context, member, channel_phase(channel, true)) {
  header_.send_from(packet_->header);
  payload_.send_from(packet_->payload);
}

void PacketSender::advance(Pass& pass) {
  header_.advance(pass);
  payload_.advance(pass);
}

void PacketSender::add_pending(OpenTransfer& pending) const {
  header_.add_pending(pending);
  payload_.add_pending(pending);
}

PacketReceiver::PacketReceiver(const MoveContext& context, int member, unsigned channel,
                               const stream::Expected& expected)
    : context_(&context),
      member_(member),
      channel_(channel),
      expected_(expected),
      packet_(std::make_shared<stream::Packet>()),
      header_(context, member, channel_phase(channel)) {
  header_.receive_into(packet_->header);
}

void PacketReceiver::advance(Pass& pass, Status& trouble) {
  if (finished() || !trouble.ok()) return;
  const Rank rank = context_->members->rank_of(member_);
  header_.advance(pass);
  if (!header_.finished()) return;
  if (!payload_) {
    auto header = stream::read_header(packet_->header, expected_);
    if (!header) {
      trouble = blamed_on(rank, header.status());
      return;
    }
    read_ = header.value();
    packet_->payload.resize(static_cast<std::size_t>(read_->payload_bytes));
    payload_.emplace(*context_, member_, channel_phase(channel_, true))
        .receive_into(packet_->payload);
  }
  payload_->advance(pass);
  if (!payload_->finished()) return;
  auto view = stream::read_payload(*read_, packet_->payload, scratch_);
  if (!view) {
    trouble = blamed_on(rank, view.status());
    return;
  }
  view_ = view.value();
  pass.moved = true;
}

void PacketReceiver::add_pending(OpenTransfer& pending) const {
  header_.add_pending(pending);
  if (payload_) payload_->add_pending(pending);
}

}  // namespace unisono::move
