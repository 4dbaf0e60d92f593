"""Run a notebook's cells, and prepare the outputs that are stored and compared."""

from __future__ import annotations

import json
import os
import re
import sysconfig
import textwrap
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory
from typing import Any

from forgekit.errors import ForgekitError

CELL_TIMEOUT_S = 300
MAY_FAIL = "raises-exception"
# forgekit settings that make a notebook print the same text on every machine.
KERNEL_ENVIRONMENT = {
    "FORGEKIT_DEVICE": "virtual",
    # each notebook starts without passed exercises, and stores no progress
    "FORGEKIT_PROGRESS": "off",
    "FORGEKIT_DISK_CACHE": "off",  # a compiled kernel reports whether it came from the disk cache
}

# (regex, replacement) pairs, applied when a notebook is built, for paths and numbers that depend on
# the process or the machine. Applying a pair twice has the same effect as applying it once.
PLACES = (
    (r"(?:/[\w.+-]+)*/ipykernel_\d+/", "/tmp/ipykernel_0/"),  # the folder with the source of cells
    (r"\bat 0x[0-9a-fA-F]+", "at 0x0"),  # <function f at 0x7f...>
    (r"\b0x[0-9a-f]{12,16}@", "0x0@"),  # a host address in a CuTe tensor's text
)
# Stored in the notebook for readers, but never compared.
TIMINGS = (
    (r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)? ?(?:ns|us|µs|μs|ms|s|min)\b", "TIME"),
    (r"\b\d+(?:\.\d+)? ?[kMGT]?(?:B|FLOP|it|elements)/s", "RATE"),
    # Pictures in HTML, whose bytes differ between versions of matplotlib and of fonts. The text
    # next to them describes their content.
    (r"data:image/png;base64,[A-Za-z0-9+/=]+", "PICTURE"),
    (r'"application/gzip">[A-Za-z0-9+/=]+', "SCRIPT"),  # bytes that differ between versions of zlib
    (r"root\.innerHTML=`(?:[^`\\]|\\.)*`", "PICTURE"),
    (r"\bwidth:\s*\d+px", "width:SIZE"),
)


def execute(notebook: Any, source: Path) -> None:
    """Run all cells in a fresh kernel, in the folder of the .py.

    Raises:
        ForgekitError: a cell without the tag for expected failures fails, or a cell with that tag
            does not fail.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    begun = [0]  # the cells that have started, in order
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(source.parent)}},
        on_cell_execute=lambda cell, cell_index: begun.append(cell_index),
    )
    try:
        with TemporaryDirectory(prefix="forgekit-ipython-") as folder:
            # A cell's output reaches the notebook through the client, not through stdout and
            # stderr.
            client.execute(env=_environment(folder), stdout=DEVNULL, stderr=DEVNULL)
    except CellExecutionError as error:
        raise ForgekitError(
            f"{source}, cell {begun[-1] + 1}: {error.ename}: {error.evalue}\n"
            f"{textwrap.indent(notebook.cells[begun[-1]].source, '    ')}\n"
            f"No file was written. Fix the cell, or tag it {MAY_FAIL} if the failure is intended"
        ) from error
    except (CellTimeoutError, DeadKernelError) as error:
        raise ForgekitError(f"{source}, cell {begun[-1] + 1}: {error}") from error
    for number, cell in enumerate(notebook.cells, start=1):
        promised = MAY_FAIL in cell.metadata.get("tags", [])
        if promised and not any(out.output_type == "error" for out in cell.outputs):
            raise ForgekitError(
                f"{source}, cell {number}: tagged {MAY_FAIL} but raised no exception; remove the "
                "tag or make the cell fail"
            )


def _environment(ipython_folder: str) -> dict[str, str]:
    """Return the kernel's environment, without the user's own settings for forgekit and IPython."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("FORGEKIT_")}
    # With this variable set, ipykernel drops output of C code (cute.printf on the host).
    kept.pop("PYTEST_CURRENT_TEST", None)
    return {**kept, **KERNEL_ENVIRONMENT, "IPYTHONDIR": ipython_folder}


def _folders(course: Path) -> tuple[tuple[str, str], ...]:
    """Return this machine's folders that appear in messages. Package folders come first, because
    they may be inside the others."""
    packages = sysconfig.get_path("purelib")
    return ((re.escape(packages), "site-packages"), (re.escape(f"{course}/"), ""))


def volatile_patterns(course: Path) -> dict[str, str]:
    """Map regexes to replacements for everything that may differ between two runs of a notebook."""
    return dict((*_folders(course), *PLACES, *TIMINGS))


def _rewrite_output(output: Any, patterns: dict[str, str]) -> Any:
    """Return `output` with all its texts rewritten and its pictures unchanged."""
    if isinstance(output, str):
        for regex, replacement in patterns.items():
            output = re.sub(regex, replacement, output)
        return output
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
    """Put printed text before the cell's result or error, and join adjacent pieces.

    Output from C code reaches the notebook through a pipe, so it may arrive after a later Python
    result.
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
    """Return a cell's outputs as they are stored, without this machine's paths and without stderr.

    stderr contains progress bars and library warnings, which differ between runs and machines.
    """
    kept = [out for out in outputs if out.get("name") != "stderr"]
    return _rewrite_output(_in_order(kept), dict((*_folders(course), *PLACES)))


def comparable(outputs: list[Any], course: Path) -> str:
    """Return text that is the same for any two equivalent runs of a cell.

    Printed text and pictures are compared separately, because their order varies when C code
    prints.
    """
    ordered = _in_order(sorted(outputs, key=_is_stream))
    return json.dumps(_rewrite_output(ordered, volatile_patterns(course)), sort_keys=True)
