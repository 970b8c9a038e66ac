"""The modules of the package stand in layers."""

from __future__ import annotations

import ast
import graphlib
import pathlib

import qdq

SOURCES = {path.stem: path for path in pathlib.Path(qdq.__file__).parent.glob("*.py")}


def imports_of(path: pathlib.Path) -> set[str]:
    """Modules of the package that a module imports anywhere, in functions, too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            found.update(name for name in names if name in SOURCES)
    return found


def test_no_modules_import_each_other():
    order = graphlib.TopologicalSorter({n: imports_of(path) for n, path in SOURCES.items()})
    made = list(order.static_order())  # an error of graphlib names the circle
    assert made.index("_quantize") < made.index("cluster")
