// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/data/file/unpack.hpp"

#include "opt/data/file/text_file.hpp"
#include "opt/job/text.hpp"

#ifdef UNISONO_HAS_ZLIB
#include <zlib.h>

#include <algorithm>
#include <memory>

namespace unisono::opt {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr std::size_t kInputMax = 1 << 30;  // zlib counts in 32 bits
constexpr int kWindowOfGzip = 15 + 16;

struct Inflater {
  Inflater() : ready(::inflateInit2(&stream, kWindowOfGzip) == Z_OK) {}
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready) ::inflateEnd(&stream);
  }
  z_stream stream{};
  bool ready;
};

}  // namespace

bool can_unpack() { return true; }

Status unpack(std::string_view packed, const TakeUnpacked& take) {
  Inflater inflater;
  if (!inflater.ready) return Status(Code::out_of_memory, "no memory to unpack gzip");
  z_stream& stream = inflater.stream;
  const auto piece = std::make_unique<char[]>(kPieceBytes);
  for (;;) {
    const auto given = static_cast<uInt>(std::min(packed.size(), kInputMax));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = given;
    stream.next_out = reinterpret_cast<Bytef*>(piece.get());
    stream.avail_out = kPieceBytes;
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    packed.remove_prefix(given - stream.avail_in);
    const std::size_t got = kPieceBytes - stream.avail_out;
    if (got > 0 && !take({piece.get(), got}, packed.size())) return {};
    if (result == Z_STREAM_END) {
      if (packed.empty()) return {};
      if (::inflateReset(&stream) != Z_OK) return Status(Code::internal, "zlib cannot begin again");
      continue;
    }
    if (result == Z_BUF_ERROR || (result == Z_OK && packed.empty() && stream.avail_out > 0)) {
      return Status(Code::corrupted, "the gzip data is cut off");
    }
    if (result != Z_OK) {
      return Status(Code::corrupted, text_of("the gzip data is damaged: ",
                                             stream.msg != nullptr ? stream.msg : "unknown"));
    }
  }
}

}  // namespace unisono::opt

#else

namespace unisono::opt {

bool can_unpack() { return false; }

Status unpack(std::string_view, const TakeUnpacked&) {
  return Status(Code::unavailable,
                "the file is packed by gzip and unisono was built without zlib; unpack it first "
                "(gunzip), or install zlib (Debian or Ubuntu: apt-get install zlib1g-dev) and "
                "build unisono again");
}

}  // namespace unisono::opt
#endif
