// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/data/file/text_file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "opt/data/libsvm.hpp"
#include "opt/data/file/unpack.hpp"
#include "opt/job/text.hpp"

namespace unisono::opt {
namespace {

Status cannot_read(const std::string& path, const char* reason) {
  return wrong(path, ": cannot be read: ", reason);
}

// A whole file in memory, read-only.
class Mapping {
 public:
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }

  Status open(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return cannot_read(path, std::strerror(errno));
    const Status status = map(path, file);
    ::close(file);
    return status;
  }
  std::string_view text() const { return {static_cast<const char*>(data_), size_}; }

 private:
  Status map(const std::string& path, int file) {
    struct stat about {};
    if (::fstat(file, &about) != 0) return cannot_read(path, std::strerror(errno));
    if (!S_ISREG(about.st_mode)) return cannot_read(path, "it is not a regular file");
    if (about.st_size == 0) return {};
    const auto size = static_cast<std::size_t>(about.st_size);
    void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) return cannot_read(path, std::strerror(errno));
    ::madvise(data, size, MADV_SEQUENTIAL);
    data_ = data;
    size_ = size;
    return {};
  }

  void* data_ = nullptr;
  std::size_t size_ = 0;
};

bool is_packed(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::uint64_t share_begin(std::uint64_t size, int index, int count) {
  // Without the overflow of size * index.
  const auto parts = static_cast<std::uint64_t>(count), i = static_cast<std::uint64_t>(index);
  return size / parts * i + size % parts * i / parts;
}

// Tells how far unpacking is, in one of so many passes over the file.
class UnpackProgress {
 public:
  UnpackProgress(const ReadProgress& progress, std::size_t bytes, int passes)
      : progress_(progress), bytes_(static_cast<double>(bytes)), passes_(passes) {}
  void tell(int pass, std::size_t left) const {
    if (!progress_) return;
    progress_((pass + 1 - static_cast<double>(left) / bytes_) / passes_, "unpacking");
  }

 private:
  const ReadProgress& progress_;
  const double bytes_;
  const int passes_;
};

Result<Text> whole_unpacked(std::string_view packed, const ReadProgress& progress) {
  const UnpackProgress told(progress, packed.size(), 1);
  auto text = std::make_shared<std::string>();
  const Status bad = unpack(packed, [&](std::string_view piece, std::size_t left) {
    told.tell(0, left);
    text->append(piece);
    return true;
  });
  if (!bad.ok()) return bad;
  return Text{*text, 0, text};
}

// What lies in [begin - 1, end) and the rest of its last line, of a stream of pieces.
Result<Text> part_unpacked(std::string_view packed, Part part, const ReadProgress& progress) {
  const UnpackProgress told(progress, packed.size(), 2);
  std::uint64_t size = 0;
  Status bad = unpack(packed, [&](std::string_view piece, std::size_t left) {
    told.tell(0, left);
    size += piece.size();
    return true;
  });
  if (!bad.ok()) return bad;
  const std::uint64_t begin = share_begin(size, part.index, part.count);
  const std::uint64_t end = share_begin(size, part.index + 1, part.count);
  const std::uint64_t from = begin == 0 ? 0 : begin - 1;
  auto text = std::make_shared<std::string>();
  std::uint64_t at = 0;
  bad = unpack(packed, [&](std::string_view piece, std::size_t left) {
    told.tell(1, left);
    const std::uint64_t piece_begin = at;
    at += piece.size();
    if (at <= from) return true;
    if (piece_begin < from) piece.remove_prefix(from - piece_begin);
    text->append(piece);
    // The line that holds byte end - 1 is read to its end.
    return from + text->size() < end ||
           std::memchr(text->data() + (end - 1 - from), '\n',
                       text->size() - (end - 1 - from)) == nullptr;
  });
  if (!bad.ok()) return bad;
  const std::string_view lines = cut_lines(*text, begin - from, end - from);
  const auto before = static_cast<std::uint64_t>(lines.data() - text->data());
  return Text{lines, from + before, text};
}

}  // namespace

Result<Text> text_of_part(const std::string& path, Part part, const ReadProgress& progress) {
  auto mapping = std::make_shared<Mapping>();
  if (Status bad = mapping->open(path); !bad.ok()) return bad;
  const std::string_view text = mapping->text();
  if (is_packed(text)) {
    auto unpacked = part.count == 1 ? whole_unpacked(text, progress)
                                    : part_unpacked(text, part, progress);
    if (!unpacked.ok()) {
      return Status(unpacked.status().code(), text_of(path, ": ", unpacked.status().message()));
    }
    return unpacked;
  }
  const std::string_view lines = cut_lines(text, share_begin(text.size(), part.index, part.count),
                                           share_begin(text.size(), part.index + 1, part.count));
  return Text{lines, static_cast<std::uint64_t>(lines.data() - text.data()), mapping};
}

Result<std::uint64_t> line_at(const std::string& path, std::uint64_t offset) {
  Mapping mapping;
  if (Status bad = mapping.open(path); !bad.ok()) return bad;
  std::uint64_t line = 1, left = offset;
  const auto count = [&](std::string_view piece, std::size_t) {
    piece = piece.substr(0, left);
    line += static_cast<std::uint64_t>(std::count(piece.begin(), piece.end(), '\n'));
    left -= piece.size();
    return left > 0;
  };
  if (!is_packed(mapping.text())) {
    count(mapping.text(), 0);
  } else if (Status bad = unpack(mapping.text(), count); !bad.ok()) {
    return bad;
  }
  return line;
}

}  // namespace unisono::opt
