// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The output of the ranks: whole lines, each with its rank in front, and the last ones kept for the
// verdict. Thread: the launcher's.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/fd.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

class Output {
 public:
  struct Style {
    bool prefix = true;
    bool out_to_err = false;  // standard output is wanted for something else
    std::string folder;       // also write rank.N.out and rank.N.err there; "" = no
  };
  Output(int ranks, Style style);
  Status open();
  void add(int rank, bool error, std::string_view bytes);
  void note(const std::string& host, std::string_view bytes);  // from ssh
  void finish();  // prints last lines that do not end with a newline
  const std::deque<std::string>& last_lines(int rank) const;

 private:
  struct Stream {
    std::string rest;
    Fd file;
  };
  void print(int rank, bool error, std::string_view line);
  void print_note(const std::string& host, std::string_view line);

  Style style_;
  std::vector<Stream> out_, err_;
  std::map<std::string, std::string> notes_;  // by host: a line that has not ended
  std::vector<std::deque<std::string>> last_;
  bool colour_out_ = false, colour_err_ = false;
};

void write_all(int fd, std::string_view text);

}  // namespace unisono::tools
