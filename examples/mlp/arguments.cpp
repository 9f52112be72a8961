// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace mlp {
namespace {

constexpr const char* kHelp =
    "Trains a multilayer perceptron on synthetic data, its gradients exchanged by unisono.\n"
    "\n"
    "  unisono run -np 2 examples/mlp [--steps N] [--batch N] [--hidden N,N,...]\n"
    "                                 [--rate X] [--seed N]\n"
    "\n"
    "  --steps   training steps (100)\n"
    "  --batch   samples of each rank in a step (64)\n"
    "  --hidden  width of each hidden layer (1024,1024)\n"
    "  --rate    learning rate (0.02)\n"
    "  --seed    of the data and of the first parameters (1)\n"
    "\n"
    "Started without a launcher it trains alone.\n";

constexpr int kWrongUsage = 2;

[[noreturn]] void wrong(std::string_view what, std::string_view text) {
  std::fprintf(stderr, "mlp: %.*s '%.*s'; see mlp --help\n", static_cast<int>(what.size()),
               what.data(), static_cast<int>(text.size()), text.data());
  std::exit(kWrongUsage);
}

template <typename T>
T positive(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value > 0)) {
    wrong("not a positive number:", text);
  }
  return value;
}

std::vector<int> widths(std::string_view text) {
  std::vector<int> all;
  while (true) {
    const std::size_t comma = text.find(',');
    all.push_back(positive<int>(text.substr(0, comma)));
    if (comma == std::string_view::npos) return all;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

Arguments parse_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--help" || flag == "-h") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    if (i + 1 == argc) wrong("unknown, or without its value:", flag);
    const std::string_view value = argv[++i];
    if (flag == "--steps") {
      arguments.steps = positive<int>(value);
    } else if (flag == "--batch") {
      arguments.batch = positive<int>(value);
    } else if (flag == "--hidden") {
      arguments.hidden = widths(value);
    } else if (flag == "--rate") {
      arguments.rate = positive<float>(value);
    } else if (flag == "--seed") {
      arguments.seed = positive<std::uint64_t>(value);
    } else {
      wrong("unknown option", flag);
    }
  }
  return arguments;
}

}  // namespace mlp
