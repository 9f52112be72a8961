// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The one form in which a folder lists the parts that it offers: what a part is called, one
// sentence about it, and how it is made. Names and sentences come from the choices of an option, so
// a part that cannot be chosen does not compile, and neither does a choice without a part.
// Pure; any thread.
#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "unisono/options.hpp"

namespace unisono {

template <typename Make>
struct RegistryRow {
  std::string_view name;
  std::string_view about;
  Make make;
};

// Looks the name up at compile time, where one that is not a choice is an error. constexpr rather
// than consteval because of clang 14.
constexpr OptionChoice choice_named(std::span<const OptionChoice> choices, std::string_view name) {
  for (const OptionChoice& choice : choices) {
    if (choice.name == name) return choice;
  }
  throw "a part of a registry is none of its option's choices";
}

template <typename Make>
constexpr RegistryRow<Make> registry_row(std::span<const OptionChoice> choices,
                                         std::string_view name, Make make) {
  const OptionChoice choice = choice_named(choices, name);
  return {choice.name, choice.about, make};
}

template <typename Rows>
const auto* find_row(const Rows& rows, std::string_view name) {
  const auto at = std::find_if(std::begin(rows), std::end(rows),
                               [&](const auto& row) { return row.name == name; });
  return at == std::end(rows) ? nullptr : &*at;
}

// Whether each choice has a row; "auto" may go without.
template <typename Rows>
constexpr bool all_have_rows(std::span<const OptionChoice> choices, const Rows& rows) {
  for (const OptionChoice& choice : choices) {
    bool found = choice.name == "auto";
    for (const auto& row : rows) found = found || row.name == choice.name;
    if (!found) return false;
  }
  return true;
}

}  // namespace unisono
