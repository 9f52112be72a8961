# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of the house that no compiler checks."""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_no_two_headers_define_the_same_type():
    """All of src/ shares one namespace; two types with one name break the one-definition rule
    without a word from the linker."""
    where = collections.defaultdict(set)
    for header in [*ROOT.glob("src/**/*.hpp"), *ROOT.glob("include/**/*.hpp")]:
        namespace = ""
        for line in header.read_text().splitlines():
            if match := re.match(r"namespace ([\w:]+) \{", line):
                namespace = match[1]
            # At the margin and not ending in ';': a definition at namespace scope.
            match = re.match(r"(?:struct|class)(?: alignas\(\d+\)| UNISONO_API| \[\[\w+\]\])* (\w+)[^;]*$", line)
            if match:
                where[f"{namespace}::{match[1]}"].add(header.relative_to(ROOT).as_posix())
    twice = {name: sorted(places) for name, places in where.items() if len(places) > 1}
    assert len(where) > 50
    assert not twice


def test_every_source_file_names_its_licence():
    missing = [
        path.relative_to(ROOT).as_posix()
        for folder in ("src", "include", "tools", "examples", "bench", "fuzz", "python", "tests")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".hpp", ".cpp", ".h", ".c", ".py"}
        and "SPDX-License-Identifier: Apache-2.0" not in path.read_text()[:400]
    ]
    assert not missing
