# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Who imports whom in a package, read from the source without running it.

Imports inside functions count like those of the module: one that is hidden there still means that
two modules cannot be understood, or loaded, without each other. Imports for type checkers alone do
not count. Importing a submodule is an edge to that submodule, not to the packages around it, which
Python has begun to load by then.
"""

from __future__ import annotations

import ast
import pathlib
from typing import Iterator, Optional

Graph = dict[str, set[str]]


def graph_of(package: pathlib.Path) -> Graph:
    """The modules of the package, each with the modules of the package that it imports."""
    # A compiled module is known by its stub.
    files = {_module_name(package, path): path
             for pattern in ("*.py", "*.pyi") for path in package.rglob(pattern)}
    return {name: _imports(name, path, set(files)) - {name} for name, path in files.items()}


def circle_in(graph: Graph) -> Optional[list[str]]:
    """Modules that import each other in a circle, the first one repeated at the end; or None."""
    done: set[str] = set()

    def walk(name: str, way: list[str]) -> Optional[list[str]]:
        if name in way:
            return way[way.index(name):] + [name]
        if name in done:
            return None
        for imported in sorted(graph[name]):
            circle = walk(imported, way + [name])
            if circle:
                return circle
        done.add(name)
        return None

    return next(filter(None, (walk(name, []) for name in sorted(graph))), None)


def _module_name(package: pathlib.Path, path: pathlib.Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(name: str, path: pathlib.Path, modules: set[str]) -> set[str]:
    home = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in _nodes(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = home.split(".")[:len(home.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                submodule = f"{source}.{alias.name}"
                found.add(submodule if submodule in modules else source)
    return found & modules


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those under ``if TYPE_CHECKING:``."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and _asks_for_type_checking(child.test):
            for otherwise in child.orelse:
                yield from _nodes(otherwise)
        else:
            yield from _nodes(child)


def _asks_for_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
            or isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING")
