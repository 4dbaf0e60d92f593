"""Test that the virtual GPU is an independent package, by the imports of its modules, including
imports for annotations."""

from __future__ import annotations

import graphlib
import subprocess
import sys

import grimp
import pytest

VGPU = "forgekit.vgpu"


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("forgekit", cache_dir=None, exclude_type_checking_imports=False)


def _imports(graph):
    """Map each module of the virtual GPU to its imports from forgekit."""
    modules = sorted(m for m in graph.modules if f"{m}.".startswith(f"{VGPU}."))
    return {m: graph.find_modules_directly_imported_by(m) for m in modules}


def test_it_imports_nothing_of_forgekit_outside_itself(graph):
    outside = {
        f"{module} -> {other}"
        for module, others in _imports(graph).items()
        for other in others
        if not f"{other}.".startswith(f"{VGPU}.")
    }
    assert outside == set()


def test_no_circle_of_modules(graph):
    graphlib.TopologicalSorter(_imports(graph)).prepare()


def test_no_circle_of_packages(graph):
    """No children of a package import each other in a circle; each child includes its own
    children."""
    imports = _imports(graph)
    for package in imports:
        between: dict[str, set[str]] = {}
        for module, others in imports.items():
            child = _child(package, module)
            found = {_child(package, other) for other in others} - {child, ""}
            if child:
                between.setdefault(child, set()).update(found)
        graphlib.TopologicalSorter(between).prepare()


def _child(package: str, module: str) -> str:
    """Return the child of a package that contains a module, or an empty string for the package
    itself and for modules outside it."""
    below = module.removeprefix(f"{package}.")
    return "" if below == module else below.partition(".")[0]


def test_its_errors_come_without_numpy():
    """`import forgekit` needs the errors and must be quick."""
    code = "import sys, forgekit.errors; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
