# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of the house that no compiler checks."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = {".hpp", ".cpp", ".h", ".c", ".py"}
LINES_MAX = 400
FILES_MAX = 18
# What all other folders speak: values and tools without a stage of their own.
VOCABULARY = {"base", "model"}


def sources(*folders: str) -> list[pathlib.Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*"))
            if path.suffix in SOURCES and "__pycache__" not in path.parts]


def name(path: pathlib.Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_every_source_file_names_its_licence() -> None:
    folders = ("src", "include", "tools", "examples", "bench", "fuzz", "python", "tests")
    files = sources(*folders)
    assert len(files) > 300
    assert not [name(path) for path in files
                if "SPDX-License-Identifier: Apache-2.0" not in path.read_text()[:400]]


def test_every_folder_has_a_namespace_of_its_own() -> None:
    wrong = []
    for path in sources("src"):
        folder = path.relative_to(ROOT / "src").parts[0]
        for found in re.findall(r"^namespace (unisono[\w:]*) \{", path.read_text(), re.M):
            wanted = "unisono" if folder in VOCABULARY else f"unisono::{folder}"
            # engine.cpp implements the public classes, which are at the top.
            if not (found + "::").startswith(wanted + "::") and name(path) != "src/engine/engine.cpp":
                wrong.append(f"{name(path)}: {found}")
    assert not wrong


def test_no_folder_holds_more_files_than_one_can_look_over() -> None:
    crowded = {}
    for folder in [ROOT / "src", *(ROOT / "src").rglob("*")]:
        if folder.is_dir():
            files = [path for path in folder.iterdir() if path.suffix in SOURCES]
            if len(files) > FILES_MAX:
                crowded[name(folder)] = len(files)
    assert not crowded


def test_a_long_file_says_why_it_is_one_thing() -> None:
    """After its first comment: `Long because ...`."""
    unexplained = []
    for path in sources("src", "include", "tools", "fuzz", "bench", "python", "tests"):
        text = path.read_text()
        if text.count("\n") > LINES_MAX and "Long because" not in text[:1500]:
            unexplained.append(f"{name(path)}: {text.count(chr(10))} lines")
    assert not unexplained


def test_the_library_has_no_streams_of_the_standard_library() -> None:
    """They end the process where two copies of the C++ runtime meet (src/base/os/text_file.hpp)."""
    streams = re.compile(r"#include <(fstream|sstream|iostream|istream|ostream|iomanip)>")
    users = [name(path) for path in sources("src", "python/src", "include")
             if "testing" not in path.parts and not path.stem.endswith("_test")
             and streams.search(path.read_text())]
    assert not users, users
