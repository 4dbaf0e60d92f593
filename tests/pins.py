"""Pin, in pyproject.toml, every package of the environment in which the tests ran.

    uv run --no-project python -m tests.pins           # the newest versions that resolve together
    uv run --no-project python -m tests.pins --drop    # no pins: `uv run` uses the newest

The pins are `constraint-dependencies`, which `uv run` and `uv sync` obey. They are used instead of
a lock file, which would name the hosts of its packages.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PINS = re.compile(r"(?<=\nconstraint-dependencies = \[)[^\]]*(?=\])")


def main(arguments: list[str]) -> None:
    """Rewrite the pins in pyproject.toml; `--drop` removes all pins."""
    project = ROOT / "pyproject.toml"
    project.write_text(PINS.sub("", project.read_text("utf-8"), count=1), "utf-8")
    if arguments == ["--drop"]:
        return
    if arguments:
        sys.exit(f"pins: got {' '.join(arguments)}, needed --drop or nothing")
    subprocess.run(("uv", "lock", "--upgrade"), cwd=ROOT, check=True)
    pins = resolved(tomllib.loads((ROOT / "uv.lock").read_text("utf-8")))
    block = "".join(f'\n    "{name}=={version}",' for name, version in sorted(pins.items()))
    project.write_text(PINS.sub(block + "\n", project.read_text("utf-8"), count=1), "utf-8")


def resolved(lock: dict[str, Any]) -> dict[str, str]:
    """Return name -> version of each package in a lock file's data.

    Builds of the same version, such as torch's CPU build, count as one version. A package that is
    locked in several versions, one per kind of machine, is omitted, because no single pin fits it.
    """
    versions: dict[str, set[str]] = {}
    for package in lock["package"]:
        if "editable" not in package["source"]:
            public = package["version"].partition("+")[0]
            versions.setdefault(package["name"], set()).add(public)
    return {name: found.pop() for name, found in versions.items() if len(found) == 1}


def pinned(root: Path = ROOT) -> dict[str, str]:
    """Return name -> version of each package that pyproject.toml pins."""
    with (root / "pyproject.toml").open("rb") as file:
        pins = tomllib.load(file)["tool"]["uv"]["constraint-dependencies"]
    return dict(pin.split("==") for pin in pins)


if __name__ == "__main__":
    main(sys.argv[1:])
