// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A lane reads arbitrary bytes, or frames of its own kind with damage: it must deliver what was
// sent, in order, and nothing else.
#include "target.hpp"
#include "transport/mesh/link.hpp"
#include "transport/testing/pipe_stream.hpp"

namespace unisono::fuzz {
namespace {

using transport::Pipe;

struct Sink final : transport::FrameSink {
  Result<std::byte*> place(const transport::FrameHeader& header) override {
    if (header.length > 1 << 16)
      return Status(Code::out_of_memory, "longer than anything sent here");
    payload.resize(static_cast<std::size_t>(header.length));
    return payload.data();
  }
  void deliver(transport::LaneKind, const transport::FrameHeader& header) override {
    payloads.push_back(header.length == 0 ? Bytes{} : payload);
  }
  Bytes payload;
  std::vector<Bytes> payloads;
};

constexpr transport::SealKind kSeals[] = {transport::SealKind::hash,
                                          transport::SealKind::chacha20_poly1305,
                                          transport::SealKind::aes_256_gcm};

// Side 0 sends, side 1 receives: one's `out` is the other's `in`.
transport::Link lane(Pipe& in, Pipe& out, transport::LaneKind kind, transport::SealKind seal,
                     int side) {
  transport::LaneSecret secret{seal, {}, {}};
  secret.out.fill(static_cast<unsigned char>(1 + side));
  secret.in.fill(static_cast<unsigned char>(2 - side));
  return transport::Link(std::make_unique<transport::PipeStream>(&in, &out), kind, 1, secret);
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  const transport::LaneKind kind =
      choices.below(2) == 0 ? transport::LaneKind::control : transport::LaneKind::data;
  const bool raw = choices.below(2) == 0;
  const transport::SealKind seal = kSeals[choices.below(3)];
  const std::size_t step = 1 + choices.byte();
  Pipe wire, nowhere;
  std::vector<Bytes> sent;
  if (!raw) {
    transport::Link sender = lane(nowhere, wire, kind, seal, 0);
    const transport::FrameKind frame = kind == transport::LaneKind::data
                                           ? transport::FrameKind::data
                                           : transport::FrameKind::message;
    for (unsigned left = 1 + choices.below(4); left > 0; --left) {
      const auto payload = choices.take(choices.below(64));
      sent.emplace_back(payload.begin(), payload.end());
      sender.send(frame, choices.byte(), payload, nullptr);
    }
    Bytes flat(wire.bytes.begin(), wire.bytes.end());
    damage(flat, choices);
    wire.bytes.assign(flat.begin(), flat.end());
  }
  wire.step = step;
  const auto rest = choices.rest();
  wire.bytes.insert(wire.bytes.end(), rest.begin(), rest.end());
  Sink sink;
  transport::Link receiver = lane(wire, nowhere, kind, seal, 1);
  for (bool on = true; on;) {
    const auto pumped = receiver.pump(sink);
    on = pumped.moved && pumped.why.ok() && !pumped.ended;
  }
  must(raw || sink.payloads.size() <= sent.size(), "more frames were delivered than were sent");
  for (std::size_t i = 0; !raw && i < sink.payloads.size(); ++i) {
    must(sink.payloads[i] == sent[i], "a frame was delivered that was not sent");
  }
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (const transport::LaneKind kind : {transport::LaneKind::control, transport::LaneKind::data}) {
    Pipe wire, nowhere;
    transport::Link sender = lane(nowhere, wire, kind, transport::SealKind::hash, 0);
    const transport::FrameKind frame = kind == transport::LaneKind::data
                                           ? transport::FrameKind::data
                                           : transport::FrameKind::message;
    sender.send(frame, 7, bytes_of("a payload"), nullptr);
    if (kind == transport::LaneKind::control)
      sender.send(transport::FrameKind::beat, 0, {}, nullptr);
    sender.send(transport::FrameKind::goodbye, 0, {}, nullptr);
    Bytes seed{std::byte{static_cast<std::uint8_t>(kind)}, std::byte{0}, std::byte{0},
               std::byte{40}};
    seed.insert(seed.end(), wire.bytes.begin(), wire.bytes.end());
    all.push_back(std::move(seed));
    all.push_back({std::byte{static_cast<std::uint8_t>(kind)}, std::byte{1}, std::byte{2},
                   std::byte{5}, std::byte{1}, std::byte{3}, std::byte{1}, std::byte{2},
                   std::byte{3}, std::byte{9}, std::byte{2}, std::byte{8}, std::byte{8}});
  }
  return all;
}

}  // namespace unisono::fuzz
