"""Test that forgekit's files have no circular imports, even in annotations.

`uv run lint-imports` checks packages; this test checks files. A package's `__init__.py` counts as
one of the files in the package.
"""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp

import forgekit

ROOT = Path(forgekit.__file__).parent

# Maps each file that imports modules by a name in a string, which import graphs do not show, to a
# description of these modules.
BY_NAME = {
    "__init__.py": "public names, imported when they are first used",
    "benching/suites/peers.py": "another project",
    "commands/cli.py": "commands, imported when one is called",
    "course.py": "files of the weeks",
    "devices.py": "another project",
    "lessons/classroom/judge.py": "what notebooks import, before a process is forked",
    "show.py": "drawers, the plug-ins that a result's type selects",
    "vgpu/__init__.py": "public names, imported when they are first used",
    "vgpu/opcodes/__init__.py": "all modules of the package, which register their opcodes",
    "viz/__init__.py": "public names, imported when they are first used",
    "viz/layouts/cute_viz.py": "another project",
}


def circle(imports: dict[str, set[str]]) -> str:
    """Describe a circular import, or return an empty string."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return " <- ".join(error.args[1])
    return ""


def test_a_circle_is_found() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": set[str](), "d": {"a"}}
    assert not circle(imports)
    assert circle({**imports, "c": {"a"}}).count(" <- ") == 3


def test_no_circle_of_files() -> None:
    graph = grimp.build_graph("forgekit", cache_dir=None)  # including annotations and functions
    imports = {m: graph.find_modules_directly_imported_by(m) for m in graph.modules}
    assert not circle(imports)


def test_what_is_imported_by_name() -> None:
    found = set()
    for file in ROOT.rglob("*.py"):
        calls = [n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Call)]
        names = {getattr(c.func, "attr", getattr(c.func, "id", "")) for c in calls}
        if names & {"import_module", "__import__"}:
            found.add(file.relative_to(ROOT).as_posix())
    assert BY_NAME.keys() == found
