# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The installed package stands alone: it needs nothing that a bare machine lacks."""

import pathlib
import re
import shutil
import subprocess

import pytest

import ranks
import unisono

SYSTEM = re.compile(r"linux-vdso|ld-linux|libc\.|libm\.|libstdc\+\+|libgcc_s|libpthread|libdl|librt")
HOME = pathlib.Path(unisono.__file__).parent


def outside(path):
    """Shared libraries that path needs and that are neither the system's nor the wheel's."""
    if shutil.which("ldd") is None:
        pytest.skip("ldd was not found")
    lines = subprocess.run(["ldd", str(path)], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return [line.strip() for line in lines if not SYSTEM.search(line) and str(HOME) not in line]


def test_extension_and_its_libraries_find_each_other():
    libraries = [*HOME.glob("*.so"), *HOME.glob("*.so.*")]
    assert any(path.name.startswith("_core") for path in libraries)
    if not any(path.name.startswith("libunisono") for path in libraries):
        pytest.skip("unisono is not installed from a wheel here")
    for path in libraries:
        assert outside(path) == []


def test_command_finds_its_libraries():
    command = pathlib.Path(ranks.command()).resolve()
    if not (HOME / "libunisono.so").exists() or HOME.parents[3] not in command.parents:
        pytest.skip("the unisono command does not come from the wheel here")
    lines = [line for line in outside(command) if "site-packages/unisono" not in line]
    assert lines == []
