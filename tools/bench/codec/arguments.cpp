// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/codec/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/data/text.hpp"
#include "bench/common_words.hpp"
#include "bench/settings.hpp"
#include "model/options/option_values.hpp"
#include "unisono/codec.hpp"

namespace unisono::tools {
namespace {

constexpr const char* kCodecFooter =
    R"(A tensor of normally distributed values is encoded into a packet, and the packet is added to an
accumulator, on one core. Codecs take turns with each other and with a memcpy of the tensor. What
comes out is checked: without loss, the tensor itself; with error feedback, that what was sent and
what is kept are together what was given.

Columns: encode_us and decode_us are medians, of_memcpy is how fast encoding is beside a memcpy of
the tensor (1: as fast), ratio is the tensor's bytes over the packet's, error is the norm of what the
first packet leaves out over the norm of the tensor.

Examples:
  unisono bench codec
  unisono bench codec --codec "qsgd:4,ef|topk:512:4|qsgd:4" --bytes 1M,64M
  unisono bench codec --codec "ef|powersgd:4" --dtype bf16 --json -

Exit codes: 0 success; 1 a result was wrong; 2 wrong usage; 3 the machine lacks something.)";

struct CodecLine {
  std::vector<std::string> codecs{"all"}, bytes{"64M"};
  std::string dtype = "fp32";
};

void describe_codec(CLI::App& app, CodecLine& line, CodecBenchSettings& s) {
  app.name("unisono bench codec");
  app.description("Measures what codecs cost, what they send and what they lose.\n"
                  "  unisono bench codec [--codec NAME|all] [--bytes 64M] [options]");
  app.footer(kCodecFooter);
  add_list(app, "--codec", line.codecs, "compositions as docs/COMPRESSION.md writes them, or all")
      ->capture_default_str();
  add_list(app, "--bytes", line.bytes, "sizes of the tensor: 64K,1M,64M")->capture_default_str();
  app.add_option("--dtype", line.dtype, "fp32, fp64, fp16 or bf16")->capture_default_str();
  app.add_option("--repeat", s.repeat, "turns of each codec")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--seed", s.seed, "of the values")->capture_default_str();
  app.add_option("--json", s.json, "write the results as JSON to FILE, or - for standard output");
  app.add_flag("-q,--quiet", s.quiet, "no progress bar");
}

Status read_codecs(const CodecLine& line, CodecBenchSettings& s) {
  for (const std::string& text : line.codecs) {
    if (text == "all") {
      s.codecs = usual_codecs();
      return {};
    }
    auto spec = parse_codec(text);
    if (!spec) return spec.status();
    if (std::find(s.codecs.begin(), s.codecs.end(), text) == s.codecs.end()) {
      s.codecs.push_back(text);
    }
  }
  return {};
}

Status read_tensors(const CodecLine& line, CodecBenchSettings& s) {
  const std::vector<std::string_view> known{"fp32", "fp64", "fp16", "bf16"};
  const auto dtype = dtype_from(line.dtype);
  if (!dtype || std::find(known.begin(), known.end(), bench_name(*dtype)) == known.end()) {
    return wrong_word(cat("--dtype ", line.dtype, ": codecs are for floats; one of ",
                           join_text(known)));
  }
  s.dtype = *dtype;
  for (const std::string& text : line.bytes) {
    const auto bytes = parse_bytes(text);
    if (!bytes || *bytes <= 0) {
      return wrong_word(cat("--bytes ", text, ": write sizes above 0 as 8, 64K, 1M or 2G"));
    }
    const auto width = static_cast<std::int64_t>(size_of(*dtype));
    s.lengths.push_back(static_cast<std::uint64_t>((*bytes + width - 1) / width));
    if (s.lengths.back() > UINT32_MAX) {
      return wrong_word(cat("--bytes ", text, ": at most 2^32 - 1 elements"));
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> usual_codecs() {
  return {"none",          "fp16",           "bf16",           "fp8",
          "qsgd:8",        "qsgd:4",         "qsgd:2",         "topk:512:4",
          "ef|topk:512:4", "ef|topk:512:16", "ef|topk:512:4|qsgd:4", "ef|topk:global:0.01",
          "ef|threshold:2.5", "ef|powersgd:2"};
}

CodecArguments parse_codec_arguments(std::vector<std::string> arguments) {
  CodecArguments out;
  out.settings.command = cat("unisono bench codec ", join_text(arguments, " "));
  CodecLine line;
  CLI::App app;
  describe_codec(app, line, out.settings);
  out.exit_code = read_bench_line("unisono bench codec", app, std::move(arguments), [&] {
    const Status bad = read_codecs(line, out.settings);
    return bad.ok() ? read_tensors(line, out.settings) : bad;
  });
  return out;
}

}  // namespace unisono::tools
