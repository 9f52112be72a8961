# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""docs/PYTORCH.md and unisono.torch name the same things, with the same arguments."""

import ast
import inspect
import os
import pathlib
import re
import sys

import pytest

import ranks

torch = pytest.importorskip("torch", reason="torch is not installed")

import unisono.torch as hvd  # noqa: E402
from unisono.torch.optimizer import DistributedMixin  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "PYTORCH.md").read_text()
OWNERS = {"optimizer": DistributedMixin, "handle": hvd.Handle, "process_set": hvd.ProcessSet,
          "elastic": hvd.elastic}
# The first column of every table: a name, or a name and its arguments.
ROWS = re.findall(r"^\| `([\w.]+)(?:\((.*?)\))?` \|", PAGE, re.MULTILINE)


def thing(name: str):
    owner, _, member = name.rpartition(".")
    return getattr(OWNERS[owner] if owner else hvd, member)


def test_page_and_package_name_the_same():
    documented = [name for name, _ in ROWS]
    assert len(documented) == len(set(documented))
    expected = set(hvd.__all__) | {f"elastic.{name}" for name in hvd.elastic.__all__}
    expected |= {f"optimizer.{name}" for name in vars(DistributedMixin) if name[0] != "_"}
    extra = {name for name in documented if name.startswith(("handle.", "process_set."))}
    assert expected == set(documented) - extra
    for name in extra:
        thing(name)


def documented_arguments(text: str) -> list[tuple[str, bool]]:
    arguments = ast.parse(f"def f({text}): ...").body[0].args
    plain = [(each.arg, False) for each in arguments.posonlyargs + arguments.args]
    for place in range(len(arguments.defaults)):
        plain[-1 - place] = (plain[-1 - place][0], True)
    if arguments.vararg:
        plain.append(("*" + arguments.vararg.arg, False))
    plain += [(each.arg, value is not None)
              for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return plain + ([("**" + arguments.kwarg.arg, False)] if arguments.kwarg else [])


def arguments_of(function) -> list[tuple[str, bool]]:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [(stars.get(each.kind, "") + each.name, each.default is not each.empty)
            for each in inspect.signature(function).parameters.values()
            if each.name != "self" and not each.name.startswith("_")]


@pytest.mark.parametrize("name, text", [(name, text) for name, text in ROWS if text])
def test_arguments_are_as_documented(name, text):
    assert documented_arguments(text) == arguments_of(thing(name))


def test_examples_of_the_page_run(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert blocks
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks).replace("/tmp/", f"{tmp_path}/"))
    ranks.run_line([sys.executable, str(script)], environment={"OMP_NUM_THREADS": "1"})


@pytest.mark.parametrize("page", ["PYTORCH.md", "OUTER.md", "MOVING_FROM_HOROVOD.md",
                                  "MOVING_FROM_DDP.md"])
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#:]+)", (DOCS / page).read_text()):
        assert os.path.exists(DOCS / link), link


def test_calls_of_the_moving_page_exist():
    page = (DOCS / "MOVING_FROM_HOROVOD.md").read_text()
    for name in set(re.findall(r"`hvd\.([\w.]+)", page)):
        owner, _, member = name.partition(".")
        assert hasattr(hvd, owner), name
        if member:
            assert hasattr(getattr(hvd, owner), member), name
