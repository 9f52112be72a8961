// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/software.hpp"

#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "base/data/text.hpp"
#include "model/options/option_values.hpp"

namespace unisono::tools {
namespace {

// The digits and dots at the beginning, without a dot at the end.
std::string leading_version(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.')) {
    ++end;
  }
  while (end > 0 && text[end - 1] == '.') --end;
  return std::string(text.substr(0, end));
}

std::string_view after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + word.size());
}

std::string first_line(std::string_view text) {
  text = trim(text);
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

std::optional<PythonFacts> parse_python_answer(std::string_view out) {
  const std::string_view text = after(out, kPythonAnswer);
  const auto answer = nlohmann::json::parse(text.substr(0, text.find('\n')), nullptr, false);
  if (!answer.is_object() || !answer.contains("packages") || !answer["packages"].is_object()) {
    return std::nullopt;
  }
  PythonFacts facts;
  const auto text_at = [&](const char* key) {
    const auto at = answer.find(key);
    return at != answer.end() && at->is_string() ? at->get<std::string>() : "";
  };
  facts.version = text_at("python");
  facts.executable = text_at("executable");
  for (const auto& [name, version] : answer["packages"].items()) {
    if (version.is_string()) facts.packages[name] = version.get<std::string>();
  }
  return facts;
}

Finding judge_python(const PythonTried& tried, std::string_view own) {
  const std::string name = "python";
  if (tried.path.empty()) return good(name, "none; only programs in Python need it");
  if (!tried.in_time) {
    return doubtful(name, cat(tried.path, " did not start in time"),
                    cat("see what it waits for: ", tried.path, " -X importtime -c pass"));
  }
  if (!tried.facts) {
    return doubtful(name,
                    cat(tried.path, " does not answer",
                        tried.last_words.empty() ? "" : cat(": ", tried.last_words)),
                    cat("run it by hand: ", tried.path, " -c \"import importlib.metadata\""));
  }
  const PythonFacts& facts = *tried.facts;
  std::vector<std::string> packages;
  for (const auto& [package, version] : facts.packages) {
    packages.push_back(cat(package, " ", version));
  }
  const std::string found =
      cat(facts.version, " (", facts.executable.empty() ? tried.path : facts.executable, "), ",
          packages.empty() ? "no framework" : join_text(packages));
  const auto package = facts.packages.find("unisono");
  if (package == facts.packages.end() || package->second == own) return good(name, found);
  return doubtful(name, cat(found, "; this command is ", own),
                  cat("use the command of the same environment, ",
                      facts.executable.substr(0, facts.executable.rfind('/') + 1),
                      "unisono, or install the same version again"));
}

std::string parse_mpi_version(std::string_view out) {
  if (const auto rest = after(out, "(Open MPI) "); !rest.empty()) {
    return cat("Open MPI ", leading_version(rest));
  }
  if (out.find("HYDRA") != std::string_view::npos) {
    return cat("MPICH ", leading_version(trim(after(out, "Version:"))));
  }
  return first_line(out);
}

std::string parse_ucx_version(std::string_view out) {
  for (const std::string_view word : {"Library version:", "version="}) {
    if (const auto rest = after(out, word); !rest.empty()) return leading_version(trim(rest));
  }
  return "";
}

std::string parse_ssh_version(std::string_view text) {
  const std::string line = first_line(text);
  return line.substr(0, line.find_first_of(" ,"));
}

std::string library_version(std::string_view file, std::string_view stem) {
  const auto rest = after(file.substr(file.rfind('/') + 1), stem);
  return rest.starts_with(".") ? leading_version(rest.substr(1)) : "";
}

std::string parse_nccl_header(std::string_view text) {
  std::vector<std::string> numbers;
  for (const std::string_view part : {"MAJOR", "MINOR", "PATCH"}) {
    numbers.push_back(leading_version(trim(after(text, cat("#define NCCL_", part, " ")))));
    if (numbers.back().empty()) return "";
  }
  return join_text(numbers, ".");
}

std::string loaded_version(std::string_view maps, std::string_view stem) {
  std::istringstream lines{std::string(maps)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find('/');
    if (at == std::string::npos) continue;
    if (std::string version = library_version(line.substr(at), stem); !version.empty()) {
      return version;
    }
  }
  return "";
}

}  // namespace unisono::tools
