# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The installed library, as a C++ or C project meets it: find_package and pkg-config.

Installs what build/release holds into a fresh prefix and builds tests/install/consumer against that
prefix alone.
"""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONSUMER = ROOT / "tests" / "install" / "consumer"
BUILD = ROOT / "build" / "release"


def run(*command, **settings):
    done = subprocess.run([str(part) for part in command], text=True, timeout=900,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **settings)
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    if not (BUILD / "cmake_install.cmake").exists():
        pytest.skip("build/release is not there; run: make build")
    where = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", where)
    return where


@pytest.fixture(scope="module")
def clean_environment():
    """No UNISONO_* or launcher variables: the consumers are jobs of one."""
    return {key: value for key, value in os.environ.items()
            if not re.match("(UNISONO|HOROVOD|OMPI|PMI|SLURM)_|(RANK|WORLD_SIZE)$", key)}


@pytest.fixture(scope="module")
def found_by_cmake(prefix, tmp_path_factory):
    where = tmp_path_factory.mktemp("consumer")
    run("cmake", "-S", CONSUMER, "-B", where, "-DWITH_C=ON", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", where)
    return where


@pytest.mark.parametrize("program", ["consumer_cpp", "consumer_c"])
def test_find_package_gives_a_target_that_links_and_runs(found_by_cmake, clean_environment, program):
    assert run(found_by_cmake / program, env=clean_environment).strip() == "ok"


@pytest.mark.parametrize("compiler, source", [(["c++", "-std=c++20"], "consumer.cpp"),
                                              (["cc", "-std=c99"], "consumer.c")])
def test_pkg_config_gives_flags_that_link_and_run(prefix, clean_environment, tmp_path, compiler,
                                                  source):
    if shutil.which("pkg-config") is None:
        pytest.skip("no pkg-config")
    module = next(prefix.rglob("unisono.pc"))
    environment = {**clean_environment, "PKG_CONFIG_PATH": str(module.parent),
                   "LD_LIBRARY_PATH": str(module.parent.parent)}
    flags = run("pkg-config", "--cflags", "--libs", "unisono", env=environment).split()
    program = tmp_path / "consumer"
    run(*compiler, "-Wall", "-Wextra", "-Werror", "-pedantic", CONSUMER / source, "-o", program,
        *flags)
    assert run(program, env=environment).strip() == "ok"


def test_the_command_is_installed_and_finds_its_library(prefix, clean_environment):
    command = prefix / "bin" / "unisono"
    assert command.exists()
    assert "run" in run(command, "--help", env=clean_environment)


def test_the_exported_target_names_no_private_dependency(prefix):
    exported = "".join(path.read_text() for path in prefix.rglob("unisonoTargets*.cmake"))
    assert "unisono::unisono" in exported
    for private in ["sodium", "xxhash", "hwy", "unisono_engine", "find_dependency", str(ROOT)]:
        assert private not in exported, private


def test_only_public_headers_are_installed(prefix):
    headers = {path.relative_to(prefix).as_posix() for path in (prefix / "include").rglob("*")
               if path.is_file()}
    public = {f"include/unisono/{path.name}" for path in (ROOT / "include/unisono").iterdir()}
    assert headers == public


def test_the_library_exports_only_the_public_names(prefix):
    if shutil.which("nm") is None:
        pytest.skip("no nm")
    library = next(path for path in prefix.rglob("libunisono.so"))
    symbols = [line.split()[-1] for line in
               run("nm", "-D", "--defined-only", "-C", library).splitlines() if line.strip()]
    vendors = [name for name in symbols if re.search("sodium|XXH|hwy::", name)]
    assert not vendors, vendors[:10]
    assert any(name.startswith("unisono_join") for name in symbols)
