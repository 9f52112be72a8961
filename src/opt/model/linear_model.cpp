// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/model/linear_model.hpp"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "opt/data/number.hpp"
#include "opt/job/checksum.hpp"
#include "opt/job/text.hpp"

namespace unisono::opt {
namespace {

constexpr std::string_view kFirstLine = "unisono-linear-model 1";

// Takes a text line by line.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  int number() const { return number_; }
  std::size_t offset() const { return offset_; }
  bool next(std::string_view& line) {
    if (offset_ == text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', offset_), text_.size());
    line = text_.substr(offset_, end - offset_);
    offset_ = std::min(end + 1, text_.size());
    ++number_;
    return true;
  }
  // The rest of a line that begins with a word; empty when it does not.
  std::string_view after(std::string_view word) {
    std::string_view line;
    if (!next(line) || !line.starts_with(word) || line.size() <= word.size() + 1) return {};
    if (line[word.size()] != ' ') return {};
    return line.substr(word.size() + 1);
  }

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
  int number_ = 0;
};

template <typename Number>
bool read_number(std::string_view text, Number& out) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

bool read_two(std::string_view text, auto& first, auto& second) {
  const std::size_t space = text.find(' ');
  return space != text.npos && read_number(text.substr(0, space), first) &&
         read_number(text.substr(space + 1), second);
}

struct CloseModel {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using ModelFile = std::unique_ptr<std::FILE, CloseModel>;

}  // namespace

double LinearModel::decision(const Entry& row) const {
  double sum = intercept ? weights.back() : 0;
  const std::uint32_t width = features();
  for (std::size_t i = 0; i < row.columns.size() && row.columns[i] < width; ++i) {
    sum += static_cast<double>(weights[row.columns[i]]) * row.values[i];
  }
  return sum;
}

std::string model_text(const LinearModel& model) {
  const auto nonzeros = model.weights.size() -
                        static_cast<std::size_t>(
                            std::count(model.weights.begin(), model.weights.end(), 0.0f));
  std::string out = text_of(kFirstLine, "\nloss ", name_of(model.loss), "\nlabels ",
                            model.labels.low, " ", model.labels.high, "\nfeatures ",
                            model.features(), "\nintercept ", model.intercept ? 1 : 0,
                            "\nweights ", nonzeros, "\n");
  for (std::size_t i = 0; i < model.weights.size(); ++i) {
    if (model.weights[i] == 0) continue;
    append_to(out, i + 1);
    out += ' ';
    append_to(out, model.weights[i]);       // the shortest text that reads as the same float
    out += '\n';
  }
  return out + text_of("checksum ", checksum_of(out.data(), out.size(), 0), "\n");
}

Result<LinearModel> parse_model(std::string_view text) {
  Lines lines(text);
  const auto bad = [&](std::string_view reason) {
    return wrong("line ", lines.number(), ": ", reason);
  };
  std::string_view line;
  if (!lines.next(line) || line != kFirstLine) {
    return bad(text_of("it is not \"", kFirstLine, "\", so this is no model"));
  }
  LinearModel model;
  const std::string_view loss = lines.after("loss");
  if (loss != "logistic" && loss != "hinge") return bad("the loss is neither logistic nor hinge");
  model.loss = loss == "hinge" ? Loss::hinge : Loss::logistic;
  if (!read_two(lines.after("labels"), model.labels.low, model.labels.high)) {
    return bad("two labels are missing");
  }
  std::uint32_t features = 0, intercept = 0;
  std::uint64_t count = 0;
  if (!read_number(lines.after("features"), features)) return bad("the features are missing");
  if (!read_number(lines.after("intercept"), intercept) || intercept > 1) {
    return bad("whether there is an intercept is missing");
  }
  if (!read_number(lines.after("weights"), count)) return bad("how many weights is missing");
  const std::uint64_t width = std::uint64_t{features} + intercept;
  if (count > width) return bad("more weights than features");
  model.intercept = intercept == 1;
  // Memory for all of them is asked for when the checksum has said that the file is whole.
  std::vector<std::pair<std::uint64_t, float>> found;
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t index = 0;
    float weight = 0;
    if (!lines.next(line)) return bad("the file is cut off");
    if (!read_two(line, index, weight)) return bad("no index and weight");
    if (index <= last || index > width) return bad("the index does not ascend, or is too large");
    if (!std::isfinite(weight)) return bad("the weight is not finite");
    found.emplace_back(index - 1, weight);
    last = index;
  }
  const std::size_t end = lines.offset();
  std::uint64_t checksum = 0;
  if (!read_number(lines.after("checksum"), checksum)) return bad("the checksum is missing");
  if (checksum != checksum_of(text.data(), end, 0)) return bad("the checksum is wrong");
  if (lines.next(line)) return bad("something follows the checksum");
  model.weights.resize(width);
  for (const auto& [column, weight] : found) model.weights[column] = weight;
  return model;
}

Status write_model(const std::string& path, const LinearModel& model) {
  const std::string text = model_text(model), beside = text_of(path, ".", ::getpid(), ".tmp");
  bool written = false;
  if (const ModelFile file{std::fopen(beside.c_str(), "we")}) {
    written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
              std::fflush(file.get()) == 0;
  }
  if (written && std::rename(beside.c_str(), path.c_str()) == 0) return {};
  const Status bad = wrong(path, ": the model cannot be written: ", std::strerror(errno));
  ::unlink(beside.c_str());
  return bad;
}

Result<LinearModel> read_model(const std::string& path) {
  const ModelFile file{std::fopen(path.c_str(), "re")};
  std::string text;
  char piece[1 << 16];
  std::size_t got = 1;
  while (file != nullptr && got > 0) {
    got = std::fread(piece, 1, sizeof piece, file.get());
    text.append(piece, got);
  }
  if (file == nullptr || std::ferror(file.get()) != 0) {
    return wrong(path, ": cannot be read: ", std::strerror(errno));
  }
  auto model = parse_model(text);
  if (!model.ok()) return wrong(path, ": ", model.status().message());
  return model;
}

}  // namespace unisono::opt
