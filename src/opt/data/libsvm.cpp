// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/data/libsvm.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "opt/data/number.hpp"
#include "opt/job/text.hpp"

namespace unisono::opt {
namespace {

constexpr std::uint64_t kIndexMax = 0xFFFFFFFE;  // one more column is left for the intercept

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool ends_a_line(char c) { return c == '\n' || c == '#'; }

// What stands at a place, for people: at most 20 characters up to the next space.
std::string word_at(const char* at, const char* end) {
  const char* stop = at;
  while (stop != end && !is_space(*stop) && *stop != '\n' && stop - at < 20) ++stop;
  return stop == at ? "the end of the line" : text_of("\"", std::string_view(at, stop), "\"");
}

// Grows by half at least, so that text read slice by slice is not copied for every slice.
template <typename T>
void make_room(std::vector<T>& values, std::size_t more) {
  const std::size_t wanted = values.size() + more;
  if (wanted > values.capacity()) {
    values.reserve(std::max(wanted, values.capacity() + values.capacity() / 2));
  }
}

// Reads the lines of one range; knows where the line that it reads begins.
class Reader {
 public:
  Reader(std::string_view lines, std::uint64_t offset, Rows& rows, LabelsSeen& labels)
      : begin_(lines.data()), end_(begin_ + lines.size()), at_(begin_), offset_(offset),
        rows_(rows), labels_(labels) {}

  std::optional<BadLine> read_all() {
    while (at_ != end_) {
      line_ = at_;
      skip_spaces();
      if (at_ != end_ && !ends_a_line(*at_) && !read_row()) return bad_;
      skip_rest();
    }
    return std::nullopt;
  }

 private:
  void skip_spaces() {
    while (at_ != end_ && is_space(*at_)) ++at_;
  }
  void skip_rest() {
    if (at_ == end_) return;
    const void* found = std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_));
    at_ = found == nullptr ? end_ : static_cast<const char*>(found) + 1;
  }
  template <typename... Parts>
  bool refuse(const char* where, const Parts&... parts) {
    bad_ = {offset_ + static_cast<std::uint64_t>(line_ - begin_),
            static_cast<std::uint64_t>(where - line_) + 1, text_of(parts...)};
    return false;
  }
  bool at_end_of_word() const { return at_ == end_ || is_space(*at_) || ends_a_line(*at_); }

  bool read_row() {
    if (!read_label()) return false;
    std::uint64_t last = 0;
    for (;;) {
      skip_spaces();
      if (at_ == end_ || ends_a_line(*at_)) break;
      if (!read_pair(last)) return false;
    }
    rows_.width = std::max(rows_.width, static_cast<std::uint32_t>(last));
    rows_.begins.push_back(rows_.columns.size());
    return true;
  }

  bool read_label() {
    const char* const word = at_;
    float label = 0;
    at_ = read_float(word, end_, label);
    if (at_ == nullptr || !at_end_of_word()) {
      return refuse(word, "the label is no number: ", word_at(word, end_));
    }
    if (!std::isfinite(label)) return refuse(word, "the label is not finite");
    rows_.labels.push_back(label);
    if (labels_.count == 0 || label != seen_) {
      labels_.see(label, offset_ + static_cast<std::uint64_t>(line_ - begin_));
      seen_ = label;
    }
    return true;
  }

  bool read_pair(std::uint64_t& last) {
    const char* const word = at_;
    std::uint64_t index = 0;
    at_ = read_index(word, end_, index);
    if (at_ == nullptr || at_ == end_ || *at_ != ':') {
      return refuse(word, "no index:value pair: ", word_at(word, end_));
    }
    if (index <= last) {
      if (index == 0) return refuse(word, "the index is 0; indices count from 1");
      return refuse(word, "index ", index, " comes after ", last, "; indices must ascend");
    }
    if (index > kIndexMax) return refuse(word, "index ", index, " is above ", kIndexMax);
    const char* const number = ++at_;
    float value = 0;
    // One digit is what most values of binary features are.
    if (end_ - number > 1 && is_digit(number[0]) && number[1] == ' ') {
      value = static_cast<float>(number[0] - '0');
      at_ = number + 1;
    } else {
      at_ = read_float(number, end_, value);
    }
    if (at_ == nullptr || !at_end_of_word()) {
      return refuse(number, "the value of index ", index, " is no number: ",
                    word_at(number, end_));
    }
    if (!std::isfinite(value)) {
      return refuse(number, "the value of index ", index, " is not finite");
    }
    rows_.columns.push_back(static_cast<std::uint32_t>(index - 1));
    rows_.values.push_back(value);
    last = index;
    return true;
  }

  const char *begin_, *end_, *at_, *line_ = nullptr;
  std::uint64_t offset_;
  Rows& rows_;
  LabelsSeen& labels_;
  float seen_ = 0;                          // the label of the row before
  BadLine bad_;
};

}  // namespace

void LabelsSeen::see(float value, std::uint64_t offset) {
  for (int i = 0; i < count; ++i) {
    if (first[i].value != value) continue;
    first[i].offset = std::min(first[i].offset, offset);
    return;
  }
  if (count < static_cast<int>(first.size())) first[count++] = {value, offset};
}

void LabelsSeen::see(const LabelsSeen& others) {
  for (int i = 0; i < others.count; ++i) see(others.first[i].value, others.first[i].offset);
}

void reserve_for(std::string_view lines, Rows& rows) {
  const std::string_view head = lines.substr(0, 256 * 1024);
  if (head.empty()) return;
  const double more = 1.02 * static_cast<double>(lines.size()) / static_cast<double>(head.size());
  const auto expected = [&](char mark) {
    return static_cast<std::size_t>(
        more * static_cast<double>(std::count(head.begin(), head.end(), mark)) + 64);
  };
  const std::size_t pairs = expected(':'), ends = expected('\n');
  make_room(rows.columns, pairs);
  make_room(rows.values, pairs);
  make_room(rows.labels, ends);
  make_room(rows.begins, ends);
}

std::optional<BadLine> parse_lines(std::string_view lines, std::uint64_t offset, Rows& rows,
                                   LabelsSeen& labels) {
  reserve_for(lines, rows);
  return Reader(lines, offset, rows, labels).read_all();
}

std::string_view cut_lines(std::string_view text, std::uint64_t begin, std::uint64_t end) {
  // The first line that begins at `at` or after it.
  const auto next_line = [&](std::uint64_t at) -> std::uint64_t {
    if (at == 0) return 0;
    if (at > text.size()) return text.size();
    const std::size_t newline = text.find('\n', at - 1);
    return newline == text.npos ? text.size() : newline + 1;
  };
  const std::uint64_t from = next_line(begin), to = next_line(end);
  return text.substr(from, to - from);
}

}  // namespace unisono::opt
