// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What one check found: a row of the report. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace unisono::tools {

enum class Mark : std::uint8_t {
  ok,
  warn,  // jobs run, but not as well as they could, or other programs may stumble
  fail,  // jobs do not run, or not with this host
};

struct Finding {
  std::string check;
  Mark mark = Mark::ok;
  std::string found;
  std::string mend;  // what to do about it; "" when there is nothing to do
  std::string host;  // "": this machine
};

inline const char* mark_name(Mark mark) {
  return mark == Mark::ok ? "ok" : mark == Mark::warn ? "warn" : "fail";
}

inline Finding good(std::string check, std::string found) {
  return {std::move(check), Mark::ok, std::move(found), "", ""};
}
inline Finding doubtful(std::string check, std::string found, std::string mend) {
  return {std::move(check), Mark::warn, std::move(found), std::move(mend), ""};
}
inline Finding lacking(std::string check, std::string found, std::string mend) {
  return {std::move(check), Mark::fail, std::move(found), std::move(mend), ""};
}

// Called now and then with the share that is done and what is being done, for people who wait.
using Progress = std::function<void(double done, const std::string& now)>;

}  // namespace unisono::tools
