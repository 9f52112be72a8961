// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Samples of linear models as text, in the format of LIBSVM, plain or packed by gzip.
#include "opt/data/file/unpack.hpp"
#include "opt/data/libsvm.hpp"
#include "target.hpp"

namespace unisono::fuzz {
namespace {

constexpr std::size_t kUnpackedMax = 1 << 20;  // a small file may unpack to very much

std::string unpacked(std::string_view packed) {
  std::string text;
  static_cast<void>(opt::unpack(packed, [&](std::string_view piece, std::size_t left) {
    must(left <= packed.size(), "more is left than there was");
    text.append(piece.substr(0, kUnpackedMax));
    return text.size() < kUnpackedMax;
  }));
  return text;
}

void check_rows(const opt::Rows& rows) {
  must(rows.begins.size() == rows.size() + 1 && rows.begins.front() == 0 &&
           rows.begins.back() == rows.nonzeros() && rows.values.size() == rows.nonzeros(),
       "rows do not fit together");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const opt::Entry row = rows.row(i);
    for (std::size_t k = 0; k < row.columns.size(); ++k) {
      must(row.columns[k] < rows.width, "a column is beyond the last");
      must(k == 0 || row.columns[k - 1] < row.columns[k], "columns do not ascend");
    }
  }
}

}  // namespace

void take_apart(std::span<const std::byte> bytes) {
  Choices choices(bytes);
  const unsigned parts = 1 + choices.below(4);
  const bool packed = choices.below(2) == 1;
  const std::string text = packed ? unpacked(text_of(choices.rest()))
                                  : std::string(text_of(choices.rest()));
  opt::Rows whole;
  opt::LabelsSeen labels;
  const auto bad = opt::parse_lines(text, 0, whole, labels);
  if (bad) {
    must(bad->offset <= text.size() && !bad->reason.empty(), "nobody can find the bad line");
    return;
  }
  check_rows(whole);
  // However the text is cut, every line is read once.
  opt::Rows joined;
  for (unsigned i = 0; i < parts; ++i) {
    const std::string_view cut =
        opt::cut_lines(text, text.size() * i / parts, text.size() * (i + 1) / parts);
    must(!opt::parse_lines(cut, 0, joined, labels), "a good line is bad where the text is cut");
  }
  must(joined.begins == whole.begins && joined.columns == whole.columns &&
           joined.values == whole.values && joined.labels == whole.labels,
       "a text that is cut has other rows");
}

std::vector<Bytes> seeds() {
  const auto text = [](std::uint8_t parts, std::string_view lines) {
    return chosen(parts, chosen(0, bytes_of(lines)));
  };
  // "1 1:1\n", packed.
  constexpr std::uint8_t kGzip[] = {0x1f, 0x8b, 8,    0,    0, 0,    0,    0,    2,
                                    0xff, 0x33, 0x54, 0x30, 0xb4, 0x32, 0xe4, 0x02, 0,
                                    0x81, 0x4b, 0xc6, 0xf8, 6, 0,    0,    0};
  return {text(0, "1 1:1 2:0.5\n-1 3:1e-3 4294967294:7\n"),
          text(2, "# a comment\n+1 1:1 # another\n\n0 \n-0 2:-.5"), text(3, "1 2:3\r\n1 1:nan\n"),
          chosen(1, chosen(1, std::as_bytes(std::span(kGzip))))};
}

}  // namespace unisono::fuzz
