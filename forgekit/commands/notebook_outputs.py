"""What in a notebook's outputs changes from run to run, and is not stored or not compared."""

from __future__ import annotations

import json
import re
import sysconfig
from pathlib import Path
from typing import Any

__all__ = ["KERNEL_ENVIRONMENT", "comparable", "normalise", "volatile_patterns"]

# The settings of forgekit under which a notebook prints the same on every machine.
KERNEL_ENVIRONMENT = {
    "FORGEKIT_DEVICE": "virtual",
    "FORGEKIT_PROGRESS": "off",  # each notebook begins with nothing passed, and leaves nothing
    "FORGEKIT_DISK_CACHE": "off",  # a compiled kernel shows whether it came from there
}

# (regex, replacement), each leaving its own result as it is.
# Rewritten when a notebook is built: places and numbers that only one process on one machine has.
PLACES = (
    (r"(?:/[\w.+-]+)*/ipykernel_\d+/", "/tmp/ipykernel_0/"),  # the folder of a cell's source
    (r"\bat 0x[0-9a-fA-F]+", "at 0x0"),  # <function f at 0x7f...>
    (r"\b0x[0-9a-f]{12,16}@", "0x0@"),  # a host address in a CuTe tensor's text
)
# Left in the notebook, for a reader wants to see them, but never compared.
TIMINGS = (
    (r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)? ?(?:ns|us|µs|μs|ms|s|min)\b", "TIME"),
    (r"\b\d+(?:\.\d+)? ?[kMGT]?(?:B|FLOP|it|elements)/s", "RATE"),
    # Pictures within HTML: their bytes differ between versions of matplotlib and of fonts. What
    # they show stands as text beside them.
    (r"data:image/png;base64,[A-Za-z0-9+/=]+", "PICTURE"),
    (r"\bwidth:\s*\d+px", "width:SIZE"),
)


def _folders(course: Path) -> tuple[tuple[str, str], ...]:
    """The folders of this machine that show in messages: packages first, they may lie inside."""
    packages = sysconfig.get_path("purelib")
    return ((re.escape(packages), "site-packages"), (re.escape(f"{course}/"), ""))


def volatile_patterns(course: Path) -> dict[str, str]:
    """Regex -> replacement for everything that two runs of one notebook may differ in."""
    return dict((*_folders(course), *PLACES, *TIMINGS))


def _rewrite(text: str, patterns: dict[str, str]) -> str:
    for regex, replacement in patterns.items():
        text = re.sub(regex, replacement, text)
    return text


def _rewrite_output(output: Any, patterns: dict[str, str]) -> Any:
    """`output` with every text in it rewritten; pictures stay as they are."""
    if isinstance(output, str):
        return _rewrite(output, patterns)
    if isinstance(output, list):
        return [_rewrite_output(item, patterns) for item in output]
    if isinstance(output, dict):
        return type(output)(
            (key, value if key.startswith("image/") else _rewrite_output(value, patterns))
            for key, value in output.items()
        )
    return output


def _is_stream(output: Any) -> bool:
    return bool(output.get("output_type") == "stream")


def _in_order(outputs: list[Any]) -> list[Any]:
    """Printed text before the cell's result or error, with neighbouring pieces joined.

    What C code prints reaches the notebook through a pipe, and may be read after the result that
    Python sent later.
    """
    ordered = sorted(outputs, key=lambda out: out["output_type"] in ("execute_result", "error"))
    joined: list[Any] = []
    for output in ordered:
        last = joined[-1] if joined else {}
        if _is_stream(output) and _is_stream(last) and output["name"] == last["name"]:
            joined[-1] = type(last)(last, text=last["text"] + output["text"])
        else:
            joined.append(output)
    return joined


def normalise(outputs: list[Any], course: Path) -> list[Any]:
    """A cell's outputs as they are stored: without this machine's paths, and without stderr.

    stderr carries progress bars and libraries' warnings, which are of one machine and one moment.
    """
    kept = [out for out in outputs if out.get("name") != "stderr"]
    return _rewrite_output(_in_order(kept), dict((*_folders(course), *PLACES)))


def comparable(outputs: list[Any], course: Path) -> str:
    """A text that is equal for two runs of a cell that a reader would call the same.

    Printed text and pictures are compared apart: where C code prints, their order is chance.
    """
    ordered = _in_order(sorted(outputs, key=_is_stream))
    return json.dumps(_rewrite_output(ordered, volatile_patterns(course)), sort_keys=True)
