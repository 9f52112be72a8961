// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/hosts/remote_report.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "model/options/option_values.hpp"

namespace unisono::tools {
namespace {

using nlohmann::json;

constexpr std::string_view kServeGreeting = "UNISONO-DOCTOR ";
constexpr std::size_t kRowsMax = 200, kAddressesMax = 32;

std::string text_in(const json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_string()) return "";
  return printable(at->get_ref<const std::string&>(), 600);
}

// A document may follow lines that a login shell prints, and those may have braces in them; a few
// of them, since each is read to its end.
json first_document(std::string_view text) {
  text = text.substr(0, text.rfind('}') + 1);
  int tries = 0;
  for (std::size_t at = 0; at < text.size() && tries < 16;) {
    if (text[at] == '{') {
      ++tries;
      json document = json::parse(text.substr(at), nullptr, false);
      if (document.is_object() && document.contains("results")) return document;
    }
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) break;
    at = end + 1;
  }
  return {};
}

Mark mark_of(const json& row) {
  const std::string name = text_in(row, "mark");
  if (name == "warn") return Mark::warn;
  const auto ok = row.find("ok");
  const bool is_ok = ok != row.end() && ok->is_boolean() && ok->get<bool>();
  return is_ok && name != "fail" ? Mark::ok : Mark::fail;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  for (const char c : text.substr(0, most)) {
    const auto code = static_cast<unsigned char>(c);
    out += code < 0x20 || code == 0x7F ? ' ' : c;
  }
  return out;
}

Result<RemoteReport> parse_remote_report(std::string_view out) {
  const json document = first_document(out);
  const auto wrong = [] {
    return Status(Code::corrupted, "what it printed is not a report of unisono doctor");
  };
  if (!document.is_object() || !document["results"].is_array()) return wrong();
  const auto machine = document.find("machine");
  if (machine == document.end() || !machine->is_object()) return wrong();
  RemoteReport report;
  report.host = text_in(*machine, "host");
  if (const auto versions = machine->find("versions");
      versions != machine->end() && versions->is_object()) {
    for (const auto& [name, version] : versions->items()) {
      if (version.is_string()) {
        report.versions[printable(name, 60)] = printable(version.get<std::string>(), 60);
      }
    }
  }
  for (const json& row : document["results"]) {
    if (!row.is_object() || report.findings.size() == kRowsMax) return wrong();
    report.findings.push_back(
        {text_in(row, "check"), mark_of(row), text_in(row, "found"), text_in(row, "mend"), ""});
  }
  return report;
}

std::string serve_hello_line(const std::vector<std::string>& addresses) {
  return cat(kServeGreeting, json{{"addresses", addresses}}.dump(), "\n");
}

std::optional<std::vector<std::string>> parse_serve_hello(std::string_view line) {
  if (!line.starts_with(kServeGreeting)) return std::nullopt;
  const json hello = json::parse(line.substr(kServeGreeting.size()), nullptr, false);
  if (!hello.is_object() || !hello.contains("addresses") || !hello["addresses"].is_array()) {
    return std::nullopt;
  }
  std::vector<std::string> addresses;
  for (const json& each : hello["addresses"]) {
    if (!each.is_string() || addresses.size() == kAddressesMax) return std::nullopt;
    addresses.push_back(printable(each.get<std::string>(), 100));
  }
  return addresses;
}

std::string key_line(const rendezvous::JobKey& key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string line;
  for (const unsigned char byte : key) {
    line += kDigits[byte >> 4];
    line += kDigits[byte & 15];
  }
  return line + "\n";
}

std::optional<rendezvous::JobKey> parse_key_line(std::string_view line) {
  line = trim(line);
  rendezvous::JobKey key{};
  if (line.size() != 2 * key.size()) return std::nullopt;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const char* at = line.data() + 2 * i;
    const auto [end, fault] = std::from_chars(at, at + 2, key[i], 16);
    if (fault != std::errc() || end != at + 2) return std::nullopt;
  }
  return key;
}

}  // namespace unisono::tools
