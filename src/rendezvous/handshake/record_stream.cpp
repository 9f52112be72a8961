// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/handshake/record_stream.hpp"

#include <sodium.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/data/bytes.hpp"

namespace unisono::rendezvous {
namespace {

constexpr std::size_t kHeadBytes = 4 + kMacBytes;

std::array<std::byte, kMacBytes> seal(const Session& session, std::uint8_t direction,
                                      std::uint64_t number, std::span<const std::byte> record) {
  ByteWriter signed_part;
  signed_part.put(direction);
  signed_part.put(number);
  signed_part.put(static_cast<std::uint64_t>(record.size()));
  signed_part.put_raw(record);
  std::array<std::byte, kMacBytes> mac;
  crypto_auth(reinterpret_cast<unsigned char*>(mac.data()),
              reinterpret_cast<const unsigned char*>(signed_part.bytes().data()),
              signed_part.size(), session.record_key.data());
  return mac;
}

}  // namespace

RecordStream::RecordStream(Fd socket, const Session& session, End end, std::size_t longest)
    : socket_(std::move(socket)), session_(session), end_(end), longest_(longest) {}

void RecordStream::send(std::span<const std::byte> record) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(record.size()));
  out.put_raw(seal(session_, static_cast<std::uint8_t>(end_), sent_++, record));
  out.put_raw(record);
  out_.insert(out_.end(), out.bytes().begin(), out.bytes().end());
}

std::optional<std::vector<std::byte>> RecordStream::next() {
  if (records_.empty()) return std::nullopt;
  auto record = std::move(records_.front());
  records_.pop_front();
  return record;
}

const Status& RecordStream::pump() {
  while (status_.ok() && !out_.empty()) {
    const ssize_t n = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n < 0) break;  // what the peer sent before it closed is still read below
    out_.erase(out_.begin(), out_.begin() + n);
  }
  if (status_.ok()) read_some();
  return status_;
}

void RecordStream::read_some() {
  std::byte buffer[16384];
  for (;;) {
    const ssize_t n = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) {
      status_ = Status(Code::peer_lost, "the connection was closed");
      return;
    }
    in_.insert(in_.end(), buffer, buffer + n);
    parse();
    if (!status_.ok()) return;
  }
}

void RecordStream::parse() {
  while (in_.size() >= kHeadBytes) {
    std::uint32_t length = 0;
    std::memcpy(&length, in_.data(), sizeof length);
    if (length > longest_) {
      status_ = Status(Code::corrupted, "a record during the join was longer than allowed");
      return;
    }
    if (in_.size() < kHeadBytes + length) return;
    const auto record = std::span<const std::byte>(in_).subspan(kHeadBytes, length);
    const auto from = end_ == End::client ? End::server : End::client;
    const auto mac = seal(session_, static_cast<std::uint8_t>(from), received_++, record);
    if (sodium_memcmp(mac.data(), in_.data() + 4, kMacBytes) != 0) {
      status_ = Status(Code::corrupted, "a record during the join failed its check");
      return;
    }
    records_.emplace_back(record.begin(), record.end());
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(kHeadBytes + length));
  }
}

}  // namespace unisono::rendezvous
