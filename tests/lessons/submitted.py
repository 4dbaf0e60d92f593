"""What a student hands in, from the text of a cell."""

from __future__ import annotations

import importlib.util
import linecache
from pathlib import Path
from typing import Any

from forgekit.lessons.exercise import Exercise


def load(e: Exercise, code: str, folder: Path, name: str) -> Any:
    """What a student hands in whose cell holds `code`: the value of the exercise's entry.

    The code runs as a module of its own, after the imports of the solution file.
    """
    whole = e.source.path.read_text(encoding="utf-8")
    first = e.source.solution.splitlines()[0]
    imports = whole[: whole.index(first)]
    file = folder / f"{name}.py"
    file.write_text(imports + code, encoding="utf-8")
    linecache.checkcache(str(file))
    spec = importlib.util.spec_from_file_location(f"{folder.name}_{name}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return eval(e.entry, vars(module))
