// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/report.hpp"

#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "bench/measure.hpp"
#include "bench/settings.hpp"
#include "text_table.hpp"

namespace unisono::tools {
namespace {

double per_us(double bytes, double us) { return us > 0 ? bytes / us : 0; }

std::string gigabytes(double bytes, double us) { return fixed(per_us(bytes, us) / 1e3, 2); }

}  // namespace

std::string codec_table(const CodecBenchSettings& settings, const Machine& machine,
                        const std::vector<CodecBenchRow>& rows) {
  std::string out = cat(describe(machine), ", load ", fixed(machine.load, 1), "\n");
  for (const std::uint64_t length : settings.lengths) {
    TextTable grid{{"codec", "encode, us", "p90", "GB/s", "of memcpy", "decode, us", "p90", "GB/s",
                    "bytes out", "ratio", "error"}};
    double copy_us = 0, size = 0;
    for (const CodecBenchRow& row : rows) {
      if (row.length != length) continue;
      const double encode = quantile(row.encode_us, 0.5), decode = quantile(row.decode_us, 0.5);
      copy_us = row.memcpy_us;
      size = static_cast<double>(row.bytes);
      grid.push_back({row.codec, fixed(encode, 1), fixed(quantile(row.encode_us, 0.9), 1),
                      gigabytes(size, encode), cat(fixed(copy_us / encode, 3), "x"),
                      fixed(decode, 1), fixed(quantile(row.decode_us, 0.9), 1),
                      gigabytes(size, decode), cat(row.bytes_out), fixed(row.ratio(), 2),
                      fixed(row.error, 5)});
    }
    out += cat("\n", length, " x ", bench_name(settings.dtype), " (", fixed(size / 1e6, 2),
               " MB); a memcpy takes ", fixed(copy_us, 1), " us, ", gigabytes(size, copy_us),
               " GB/s\n\n", aligned(grid, FirstColumn::text));
  }
  return cat(out, "\nMedians of ", settings.repeat,
             " turns on one core; decode adds to an accumulator; results checked. error: what the "
             "first\npacket leaves out, as a part of the norm.\n");
}

std::string codec_json(const CodecBenchSettings& settings, const Machine& machine,
                       const std::vector<CodecBenchRow>& rows) {
  using nlohmann::ordered_json;
  ordered_json all = ordered_json::array();
  for (const CodecBenchRow& row : rows) {
    const double encode = quantile(row.encode_us, 0.5), decode = quantile(row.decode_us, 0.5);
    all.push_back({{"impl", "unisono"},
                   {"codec", row.codec},
                   {"dtype", bench_name(settings.dtype)},
                   {"bytes", row.bytes},
                   {"bytes_out", row.bytes_out},
                   {"ratio", row.ratio()},
                   {"encode_us", encode},
                   {"encode_p90_us", quantile(row.encode_us, 0.9)},
                   {"decode_us", decode},
                   {"decode_p90_us", quantile(row.decode_us, 0.9)},
                   {"memcpy_us", row.memcpy_us},
                   {"of_memcpy", row.memcpy_us / encode},
                   {"decode_of_memcpy", row.memcpy_us / decode},
                   {"relative_error", row.error},
                   {"repetitions", row.encode_us.size()},
                   {"checked", row.checked}});
  }
  const ordered_json document{{"machine", machine_json(machine)},
                              {"command", settings.command},
                              {"seed", settings.seed},
                              {"results", all}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace unisono::tools
