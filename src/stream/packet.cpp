// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "stream/packet.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "base/data/hash.hpp"
#include "base/data/text.hpp"
#include "kernels/kernels.hpp"

namespace unisono::stream {

namespace {

constexpr std::uint16_t kMagic = 0x5A53;
constexpr std::uint8_t kVersion = 1;

// As it lies on the wire, little endian as everything we send.
struct WireHeader {
  std::uint16_t magic = kMagic;
  std::uint8_t version = kVersion;
  std::uint8_t format = 0, dtype = 0, index_bytes = 0, op = 0, reserved = 0;
  std::uint64_t offset = 0, length = 0, nnz = 0, payload_bytes = 0;
  std::uint32_t sequence = 0;
  std::uint32_t check = 0;                  // of all before it, and the operator
};
static_assert(sizeof(WireHeader) == kStreamHeaderBytes);

std::uint32_t check_of(const WireHeader& header, const kernels::Operator& op) {
  const auto bytes = std::as_bytes(std::span(&header, 1)).first(sizeof header - 4);
  return static_cast<std::uint32_t>(hash_bytes(bytes, op.fingerprint()));
}

ReduceOp op_on_wire(const kernels::Operator& op) {
  if (op.user != nullptr) return static_cast<ReduceOp>(0xFF);
  return op.op == ReduceOp::average ? ReduceOp::sum : op.op;
}

Status differs(std::string_view what, std::uint64_t theirs, std::uint64_t ours) {
  return Status(Code::mismatch, cat("a sparse stream came with ", what, " ", theirs,
                                    " where this rank has ", ours,
                                    ": run one program and one version on all ranks"));
}

Status damaged(std::string_view what) {
  return Status(Code::corrupted, cat("a sparse stream came ", what));
}

void write_support(const View& view, StreamFormat format, std::byte* to) {
  switch (format) {
    case StreamFormat::pairs: {
      const bool narrow = stream_index_bytes(view.length) == 4;
      if (narrow && view.pairs.narrow != nullptr && view.pairs.base == 0) {
        if (view.nnz() != 0) std::memcpy(to, view.pairs.narrow, view.nnz() * 4);
        return;
      }
      for (std::size_t i = 0; i < view.nnz(); ++i) {
        const std::uint64_t index = view.index(i);
        if (narrow) reinterpret_cast<std::uint32_t*>(to)[i] = static_cast<std::uint32_t>(index);
        else reinterpret_cast<std::uint64_t*>(to)[i] = index;
      }
      return;
    }
    case StreamFormat::blocks: {
      const auto blocks = static_cast<std::size_t>((view.length + kStreamBlock - 1) / kStreamBlock);
      auto* const counts = reinterpret_cast<std::uint32_t*>(to);
      auto* const within = reinterpret_cast<std::uint16_t*>(to + blocks * 4);
      std::fill_n(counts, blocks, 0u);
      for (std::size_t i = 0; i < view.nnz(); ++i) {
        const std::uint64_t index = view.index(i);
        ++counts[index / kStreamBlock];
        within[i] = static_cast<std::uint16_t>(index % kStreamBlock);
      }
      return;
    }
    case StreamFormat::bitmap: {
      auto* const words = reinterpret_cast<std::uint64_t*>(to);
      std::fill_n(words, static_cast<std::size_t>((view.length + 63) / 64), std::uint64_t{0});
      for (std::size_t i = 0; i < view.nnz(); ++i) {
        const std::uint64_t index = view.index(i);
        words[index / 64] |= std::uint64_t{1} << (index % 64);
      }
      return;
    }
    case StreamFormat::dense: return;
  }
}

// The absent elements of a dense payload are the neutral one.
void write_all(const View& view, const kernels::Operator& op, std::byte* to) {
  const std::size_t width = size_of(view.dtype());
  if (view.dense) {
    if (view.length != 0) std::memcpy(to, view.pairs.values, view.nnz() * width);
    return;
  }
  kernels::fill_absent(view.dtype(), op, to, static_cast<std::size_t>(view.length));
  const auto* from = static_cast<const std::byte*>(view.pairs.values);
  for (std::size_t i = 0; i < view.nnz(); ++i) {
    std::memcpy(to + view.index(i) * width, from + i * width, width);
  }
}

template <typename I>
void add_block(const std::uint16_t* within, std::size_t count, std::uint64_t start, I* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<I>(start + within[i]);
}

template <typename I>
bool read_blocks(const Header& header, const std::byte* from, I* out) {
  const std::uint64_t blocks = (header.length + kStreamBlock - 1) / kStreamBlock;
  const auto* counts = reinterpret_cast<const std::uint32_t*>(from);
  const auto* within = reinterpret_cast<const std::uint16_t*>(from + blocks * 4);
  std::uint64_t total = 0;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    if (counts[block] > header.nnz - total) return false;
    add_block(within + total, counts[block], block * kStreamBlock, out + total);
    total += counts[block];
  }
  return total == header.nnz;
}

template <typename I>
bool read_bitmap(const Header& header, const std::byte* from, I* out) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(from);
  std::uint64_t total = 0;
  for (std::uint64_t w = 0; w < (header.length + 63) / 64; ++w) {
    std::uint64_t word = words[w];
    if (static_cast<std::uint64_t>(std::popcount(word)) > header.nnz - total) return false;
    for (; word != 0; word &= word - 1) {
      out[total++] = static_cast<I>(w * 64 + static_cast<std::uint64_t>(std::countr_zero(word)));
    }
  }
  return total == header.nnz;
}

template <typename I>
bool read_support(const Header& header, const std::byte* from, Array<I>& scratch) {
  scratch.resize(static_cast<std::size_t>(header.nnz));
  return header.format == StreamFormat::blocks ? read_blocks(header, from, scratch.data())
                                               : read_bitmap(header, from, scratch.data());
}

}  // namespace

HeaderBytes write_header(const Header& header, const kernels::Operator& op) {
  WireHeader wire;
  wire.format = static_cast<std::uint8_t>(header.format);
  wire.dtype = static_cast<std::uint8_t>(header.dtype);
  wire.index_bytes = header.index_bytes;
  wire.op = static_cast<std::uint8_t>(header.op);
  wire.offset = header.offset;
  wire.length = header.length;
  wire.nnz = header.nnz;
  wire.payload_bytes = header.payload_bytes;
  wire.sequence = header.sequence;
  wire.check = check_of(wire, op);
  HeaderBytes out;
  std::memcpy(out.data(), &wire, sizeof wire);
  return out;
}

Packet write_packet(const View& view, const kernels::Operator& op, std::uint64_t offset,
                    std::uint32_t sequence) {
  const std::uint64_t width = size_of(view.dtype());
  const StreamFormat format = view.dense ? StreamFormat::dense
                                         : shortest_format(view.length, view.nnz(), width);
  Header header;
  header.format = format;
  header.dtype = view.dtype();
  header.index_bytes = static_cast<std::uint8_t>(stream_index_bytes(view.length));
  header.op = op_on_wire(op);
  header.sequence = sequence;
  header.offset = offset;
  header.length = view.length;
  header.nnz = format == StreamFormat::dense ? view.length : view.nnz();
  header.payload_bytes = stream_payload_bytes(format, view.length, header.nnz, width);
  Packet out;
  out.header = write_header(header, op);
  out.payload.resize(static_cast<std::size_t>(header.payload_bytes));
  if (format == StreamFormat::dense) {
    write_all(view, op, out.payload.data());
    return out;
  }
  write_support(view, format, out.payload.data());
  const std::uint64_t support = stream_support_bytes(format, view.length, header.nnz);
  if (view.nnz() != 0) {
    std::memcpy(out.payload.data() + support, view.pairs.values, view.nnz() * width);
  }
  return out;
}

Result<Header> read_header(std::span<const std::byte> bytes, const Expected& expected) {
  if (bytes.size() != kStreamHeaderBytes) return damaged("without a whole header");
  WireHeader wire;
  std::memcpy(&wire, bytes.data(), sizeof wire);
  if (wire.magic != kMagic) return damaged("without the mark of one");
  if (wire.version != kVersion) return differs("version", wire.version, kVersion);
  // The operator is part of the check, and is compared first so that the message says so.
  const auto op = static_cast<std::uint8_t>(op_on_wire(expected.op));
  if (wire.op != op) return differs("operator", wire.op, op);
  if (wire.check != check_of(wire, expected.op)) {
    return damaged("with a header that fails its check, or by a user's operator of another name");
  }
  if (wire.reserved != 0 || wire.format >= kStreamFormatCount) return damaged("in no known format");
  const auto dtype = static_cast<DType>(wire.dtype);
  if (dtype != expected.dtype && dtype != expected.partial_dtype) {
    return differs("dtype", wire.dtype, static_cast<std::uint64_t>(expected.dtype));
  }
  if (wire.sequence != expected.sequence) {
    return differs("sequence number", wire.sequence, expected.sequence);
  }
  if (wire.offset != expected.offset) return differs("offset", wire.offset, expected.offset);
  if (wire.length != expected.length) return differs("length", wire.length, expected.length);
  if (wire.length > kStreamLengthMax) return damaged("longer than a stream may be");
  if (wire.index_bytes != stream_index_bytes(wire.length)) {
    return damaged("with indices of another width than its length has");
  }
  Header header;
  header.format = static_cast<StreamFormat>(wire.format);
  header.dtype = dtype;
  header.index_bytes = wire.index_bytes;
  header.op = static_cast<ReduceOp>(wire.op);
  header.sequence = wire.sequence;
  header.offset = wire.offset;
  header.length = wire.length;
  header.nnz = wire.nnz;
  header.payload_bytes = wire.payload_bytes;
  if (wire.nnz > wire.length) return damaged("with more elements than its segment has");
  if (header.format == StreamFormat::dense && wire.nnz != wire.length) {
    return damaged("as dense without all elements");
  }
  if (wire.payload_bytes !=
      stream_payload_bytes(header.format, wire.length, wire.nnz, size_of(dtype))) {
    return damaged("with another number of bytes than its elements take");
  }
  return header;
}

Result<View> read_payload(const Header& header, std::span<const std::byte> payload,
                          Scratch& scratch) {
  if (payload.size() < header.payload_bytes) return damaged("cut short");
  if (payload.size() > header.payload_bytes) return damaged("with bytes behind its end");
  UNISONO_CHECK(reinterpret_cast<std::uintptr_t>(payload.data()) % 8 == 0);
  View view;
  view.length = header.length;
  view.dense = header.format == StreamFormat::dense;
  view.pairs.dtype = header.dtype;
  view.pairs.count = static_cast<std::size_t>(header.nnz);
  view.pairs.values =
      payload.data() + stream_support_bytes(header.format, header.length, header.nnz);
  if (view.dense || header.nnz == 0) {
    // A bitmap of nothing must be empty, too, but nobody writes one.
    if (!view.dense && header.format != StreamFormat::pairs) {
      return damaged("in a longer form than its elements need");
    }
    view.pairs.narrow = scratch.narrow.data();
    return view;
  }
  const bool wide = header.index_bytes == 8;
  bool whole = true;
  if (header.format == StreamFormat::pairs) {
    if (wide) view.pairs.wide = reinterpret_cast<const std::uint64_t*>(payload.data());
    else view.pairs.narrow = reinterpret_cast<const std::uint32_t*>(payload.data());
  } else if (wide) {
    whole = read_support(header, payload.data(), scratch.wide);
    view.pairs.wide = scratch.wide.data();
  } else {
    whole = read_support(header, payload.data(), scratch.narrow);
    view.pairs.narrow = scratch.narrow.data();
  }
  if (!whole) return damaged("with other counts than its header says");
  if (!kernels::is_support(view.pairs, view.length)) {
    return damaged("with indices that do not increase or lie beyond its segment");
  }
  return view;
}

}  // namespace unisono::stream
