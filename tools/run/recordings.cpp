// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/recordings.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/data/text.hpp"
#include "observe/timeline.hpp"
#include "trace/merge.hpp"

namespace unisono::tools {
namespace {

constexpr std::size_t kChunk = 1 << 20;

std::string part_of(const std::string& base, int rank) {
  return observe::timeline_path(base, rank);
}

const char* flag_of(std::string_view variable) {
  return variable == "UNISONO_TRACE" ? "--trace" : "--timeline";
}

std::string merge_one(const RunSettings& settings, const std::string& variable,
                      const std::string& path, JobEnd& end) {
  const std::string& base = settings.job.recordings.at(variable);
  std::vector<std::string> parts;
  for (int rank = 0; rank < settings.job.size; ++rank) {
    const std::string part = part_of(base, rank);
    if (::access(part.c_str(), R_OK) == 0) parts.push_back(part);
  }
  const std::string who = cat("unisono run: ", flag_of(variable), " ", path, ": ");
  if (parts.empty()) {
    return cat(who, "no rank has written anything; does the program use unisono?\n");
  }
  auto merged = merge_parts(parts, path);
  if (!merged) {
    return cat(who, merged.status().message(), "; the parts are ", base, " and beside it\n");
  }
  for (const std::string& part : parts) std::remove(part.c_str());
  std::string text = cat(who, merged->events, " events of ", merged->clocks.size(), " of ",
                         settings.job.size, " ranks");
  if (merged->lost_lines > 0) text += cat("; ", merged->lost_lines, " torn lines left out");
  if (variable != "UNISONO_TRACE") return text + "\n";
  end.trace = path;
  end.bucket_sizes = merged->sizes;
  std::vector<std::string> sizes;
  for (std::size_t i = 0; i < merged->sizes.counts.size(); ++i) {
    if (merged->sizes.counts[i] == 0) continue;
    sizes.push_back(cat(SizeHistogram::kNames[i], ": ", merged->sizes.counts[i]));
  }
  if (!sizes.empty()) text += cat("; ", merged->sizes.total(), " buckets (", join_text(sizes), ")");
  return text + "\n";
}

}  // namespace

Status prepare_recordings(RunSettings& settings) {
  std::map<std::string, std::string> taken;  // by path
  for (auto& [variable, path] : settings.recorded) {
    std::error_code error;
    const bool folder = std::filesystem::is_directory(path, error);
    path = std::filesystem::absolute(path, error).string();
    const bool plain = !std::filesystem::exists(path, error) || folder ||
                       std::filesystem::is_regular_file(path, error);
    if (!plain) {
      return Status(Code::invalid_argument, cat(flag_of(variable), " ", path,
                                                ": it is no plain file; name another one"));
    }
    const auto [other, fresh] = taken.emplace(path, variable);
    if (!fresh) {
      return Status(Code::invalid_argument, cat(flag_of(variable), " ", path, ": ",
                                                flag_of(other->second), " has that name, too"));
    }
    // The file of an earlier run stays until there is a new one, and the attempt leaves none.
    if (folder || !std::ofstream(path, std::ios::app)) {
      return Status(Code::invalid_argument,
                    cat(flag_of(variable), " ", path, ": ", std::strerror(folder ? EISDIR : errno),
                        "; name a file in a folder that exists and may be written"));
    }
    if (std::filesystem::is_regular_file(path, error) && std::filesystem::is_empty(path, error)) {
      std::filesystem::remove(path, error);
    }
    const std::string base = path + ".part";
    for (int rank = 0; rank < settings.job.size; ++rank) {
      std::remove(part_of(base, rank).c_str());
    }
    settings.job.recordings[variable] = base;
    settings.job.environment[variable] = base;
  }
  return {};
}

void keep_part(const JobSpec& job, int rank, std::string_view body) {
  const std::size_t end = body.find('\n');
  if (end == body.npos || rank < 0 || rank >= job.size) return;
  const auto base = job.recordings.find(std::string(body.substr(0, end)));
  if (base == job.recordings.end()) return;
  body.remove_prefix(end + 1);
  std::ofstream(part_of(base->second, rank), std::ios::app)
      .write(body.data(), static_cast<std::streamsize>(body.size()));
}

std::string merge_recordings(const RunSettings& settings, JobEnd& end) {
  std::string text;
  for (const auto& [variable, path] : settings.recorded) {
    text += merge_one(settings, variable, path, end);
  }
  return text;
}

Status redirect_recordings(JobSpec& job) {
  for (auto& [variable, base] : job.recordings) {
    std::error_code error;
    std::string folder =
        (std::filesystem::temp_directory_path(error) / "unisono-parts-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) {
      return Status(Code::unavailable, cat("cannot make ", folder, " for ", flag_of(variable), ": ",
                                           std::strerror(errno)));
    }
    base = folder + "/part";
    job.environment[variable] = base;
  }
  return {};
}

void send_parts(const JobSpec& job, const HostPlan& plan, const std::function<bool(Frame)>& send) {
  for (const auto& [variable, base] : job.recordings) {
    for (const RankPlan& rank : plan.ranks) {
      std::ifstream part(part_of(base, rank.rank));
      std::string chunk(kChunk, '\0');
      while (part) {
        part.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
        const auto n = static_cast<std::size_t>(part.gcount());
        if (n == 0) break;
        if (!send({Frame::Kind::part, rank.rank, cat(variable, "\n", chunk.substr(0, n))})) return;
      }
    }
    std::error_code error;
    std::filesystem::remove_all(std::filesystem::path(base).parent_path(), error);
  }
}

}  // namespace unisono::tools
