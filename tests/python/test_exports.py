# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""What the package exports: made from what is in its modules, so it can neither lack nor leak."""

import inspect
import types

import pytest

import unisono
from unisono import exports

# Methods of Engine that make sense for an object only.
OF_THE_OBJECT = {"options"}


def test_every_method_of_the_engine_has_a_twin():
    methods = {name for name, value in inspect.getmembers(unisono.Engine, inspect.isfunction)
               if not name.startswith("_")}
    assert "allreduce_async_" in methods
    assert methods - OF_THE_OBJECT <= set(unisono.__all__)


def test_nothing_leaks():
    assert len(set(unisono.__all__)) == len(unisono.__all__)
    for name in unisono.__all__:
        value = getattr(unisono, name)
        assert not isinstance(value, types.ModuleType), name
        home = getattr(value, "__module__", "unisono")
        assert home.partition(".")[0] == "unisono", f"{name} is of {home}"


@pytest.mark.parametrize("name", ["unisono", "unisono.torch", "unisono.torch.mpi_ops"])
def test_a_star_imports_what_is_listed(name):
    if name != "unisono":
        pytest.importorskip("torch", reason="torch is not installed")
    found: dict = {}
    exec(f"from {name} import *\nimport {name} as asked", found)
    assert set(found) - {"__builtins__", "asked"} == set(found["asked"].__all__)


def test_a_module_exports_what_it_defines():
    made = types.ModuleType("made")
    exec("import os\nfrom typing import Any\nfrom unisono import rank\n"
         "def mine(): ...\ndef _hidden(): ...\nclass Kind: ...", made.__dict__)
    assert exports.defined_names(made.__dict__) == ["rank", "mine", "Kind"]


def test_a_collection_exports_all_but_modules():
    made = types.ModuleType("made")
    exec("import os\nimport typing as _typing\nfrom unisono import rank\nvalue = 3", made.__dict__)
    assert exports.all_names(made.__dict__) == ["rank", "value"]
