# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The package has no import circle, not even one that an import inside a function hides."""

import pathlib

import pytest

import import_graph

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "python"


def package(folder, **files):
    for name, text in files.items():
        path = folder / "made" / f"{name.replace('__in__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "made"


@pytest.mark.parametrize("name", ["unisono", "unisono_autoload"])
def test_no_import_circle(name):
    graph = import_graph.graph_of(SOURCE / name)
    assert name in graph
    circle = import_graph.circle_in(graph)
    assert circle is None, "modules import each other: " + " -> ".join(circle)


def test_the_graph_knows_the_package():
    graph = import_graph.graph_of(SOURCE / "unisono")
    assert {"unisono.default", "unisono.errors"} <= graph["unisono"]
    assert "unisono.torch.sparse" in graph["unisono.torch.optimizer.transfer"]
    # In a function, because only a torch that is loaded already needs it.
    assert "unisono.torch_arrays" in graph["unisono.arrays"]


@pytest.mark.parametrize("back", [
    "from . import first", "from .first import x", "from made.first import x",
    "import made.first", "def f():\n    from .first import x",
    "try:\n    from . import first\nexcept ImportError:\n    pass"])
def test_a_circle_is_named(tmp_path, back):
    made = package(tmp_path, __init__="", first="from .second import y", second=back)
    assert import_graph.circle_in(import_graph.graph_of(made)) == [
        "made.first", "made.second", "made.first"]


def test_a_circle_through_a_package_is_named(tmp_path):
    made = package(tmp_path, __init__="", first="from .inner import x",
                   inner__in____init__="from .leaf import x", inner__in__leaf="from .. import first")
    assert import_graph.circle_in(import_graph.graph_of(made)) == [
        "made.first", "made.inner", "made.inner.leaf", "made.first"]


@pytest.mark.parametrize("back", [
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import first",
    "import typing\nif typing.TYPE_CHECKING:\n    from . import first", "import first",
    "from . import third"])
def test_what_is_no_circle(tmp_path, back):
    made = package(tmp_path, __init__="from .first import y", first="from .second import y",
                   second=back, third="")
    assert import_graph.circle_in(import_graph.graph_of(made)) is None
