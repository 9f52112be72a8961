// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/verdict.hpp"

#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

std::string seconds(double s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f s", s);
  return text;
}

std::string how_it_ended(const RankEnd& end) {
  if (!end.trouble.empty()) return end.trouble;
  if (end.signal) return cat("ended by ", signal_name(*end.signal));
  if (end.exit_code) return cat("exit code ", *end.exit_code);
  return "did not end by itself";
}

const char* name_of(JobEnd::How how) {
  switch (how) {
    case JobEnd::How::succeeded:
      return "succeeded";
    case JobEnd::How::failed:
      return "failed";
    case JobEnd::How::interrupted:
      return "interrupted";
    case JobEnd::How::timed_out:
      return "timed out";
  }
  return "";
}

std::string head_line(const JobEnd& end) {
  switch (end.how) {
    case JobEnd::How::interrupted:
      return cat("unisono run: interrupted by ", signal_name(end.signal), " after ",
                 seconds(end.duration_s));
    case JobEnd::How::timed_out:
      return cat("unisono run: the job took longer than --timeout ", end.timeout_s, " s; ",
                 end.unfinished.size() == 1 ? "rank " : "ranks ", join_text(end.unfinished),
                 " had not finished");
    default:
      return cat("unisono run: the job failed after ", seconds(end.duration_s));
  }
}

}  // namespace

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name == nullptr ? cat("signal ", number) : cat("SIG", name);
}

std::string verdict_text(const JobEnd& end) {
  if (end.how == JobEnd::How::succeeded) return "";
  std::string text = cat("\n", head_line(end), "\n");
  if (!end.host_trouble.empty()) text += cat("  ", end.host_trouble, "\n");
  if (end.how == JobEnd::How::interrupted || end.first < 0) return text;
  const RankEnd& first = end.ranks[static_cast<std::size_t>(end.first)];
  text += cat("  first to fail: rank ", first.rank, " on ", first.host, " (pid ", first.pid,
              "): ", how_it_ended(first), " after ", seconds(first.duration_s), "\n");
  std::vector<std::string> others;
  for (const RankEnd& rank : end.ranks) {
    if (rank.rank != first.rank && rank.failed()) {
      others.push_back(cat("rank ", rank.rank, " ", how_it_ended(rank)));
    }
  }
  if (others.size() > 8) {
    const std::size_t more = others.size() - 8;
    others.resize(8);
    others.push_back(cat("and ", more, " more"));
  }
  if (!others.empty()) text += cat("  after it: ", join_text(others), "\n");
  if (!end.last_lines.empty()) {
    text += cat("  last lines of rank ", first.rank, ":\n");
    for (const std::string& line : end.last_lines) text += cat("    | ", line, "\n");
  }
  return text;
}

std::string verdict_json(const JobEnd& end) {
  nlohmann::json ranks = nlohmann::json::array();
  for (const RankEnd& rank : end.ranks) {
    nlohmann::json row{{"rank", rank.rank}, {"host", rank.host},
                       {"pid", rank.pid},   {"exit_code", nullptr},
                       {"signal", nullptr}, {"duration_s", rank.duration_s}};
    if (rank.exit_code) row["exit_code"] = *rank.exit_code;
    if (rank.signal) row["signal"] = signal_name(*rank.signal);
    if (!rank.trouble.empty()) row["trouble"] = rank.trouble;
    ranks.push_back(std::move(row));
  }
  nlohmann::json all{{"verdict", name_of(end.how)},  {"exit_code", end.exit_code},
                     {"duration_s", end.duration_s}, {"command", end.command},
                     {"first_failure", nullptr},     {"ranks", std::move(ranks)}};
  if (!end.host_trouble.empty()) all["host_trouble"] = end.host_trouble;
  if (!end.trace.empty()) {
    nlohmann::json sizes = nlohmann::json::object();
    for (std::size_t i = 0; i < end.bucket_sizes.counts.size(); ++i) {
      sizes[SizeHistogram::kNames[i]] = end.bucket_sizes.counts[i];
    }
    all["trace"] = {{"file", end.trace},
                    {"buckets", end.bucket_sizes.total()},
                    {"bucket_sizes", std::move(sizes)}};
  }
  if (end.first >= 0) {
    all["first_failure"] = {{"rank", end.first},
                            {"how", how_it_ended(end.ranks[static_cast<std::size_t>(end.first)])},
                            {"last_lines", end.last_lines}};
  }
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace unisono::tools
