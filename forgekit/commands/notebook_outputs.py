"""Run a notebook's cells, and prepare their outputs for storage and comparison."""

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
# Environment variables with which a notebook prints the same text on every machine.
KERNEL_ENVIRONMENT = {
    "FORGEKIT_DEVICE": "virtual",
    # start without passed exercises, and store no progress
    "FORGEKIT_PROGRESS": "off",
    "FORGEKIT_DISK_CACHE": "off",  # kernels report whether they come from the disk cache
}

# (regex, replacement) pairs for paths and numbers that depend on the process or the machine,
# applied when a notebook is built. Applying a pair twice has the same effect as applying it once.
PLACES = (
    (r"(?:/[\w.+-]+)*/ipykernel_\d+/", "/tmp/ipykernel_0/"),  # the folder of cells' source files
    (r"\bat 0x[0-9a-fA-F]+", "at 0x0"),  # <function f at 0x7f...>
    (r"\b0x[0-9a-f]{12,16}@", "0x0@"),  # a host address in a CuTe tensor's text
)
# (regex, replacement) pairs for text that is stored in the notebook but never compared.
TIMINGS = (
    (r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)? ?(?:ns|us|µs|μs|ms|s|min)\b", "TIME"),
    (r"\b\d+(?:\.\d+)? ?[kMGT]?(?:B|FLOP|it|elements)/s", "RATE"),
    # The bytes of pictures in HTML differ between versions of matplotlib and of fonts. The text
    # next to the pictures describes their content.
    (r"data:image/png;base64,[A-Za-z0-9+/=]+", "PICTURE"),
    (r'"application/gzip">[A-Za-z0-9+/=]+', "SCRIPT"),  # depends on the version of zlib
    (r"root\.innerHTML=`(?:[^`\\]|\\.)*`", "PICTURE"),
    (r"\bwidth:\s*\d+px", "width:SIZE"),
)


def execute(notebook: Any, source: Path) -> None:
    """Run all cells in a fresh kernel, in the folder of the .py file.

    Raises:
        ForgekitError: a cell fails that is not tagged as an expected failure, or a tagged cell does
            not fail.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    begun = [0]  # indices of the cells that have started, in order
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
            # Cells' outputs do not use these streams; the client receives them as messages.
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
    """Return the environment for the Jupyter kernel, without the user's settings for forgekit and
    IPython."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("FORGEKIT_")}
    # With this variable, ipykernel drops the output of C code (cute.printf on the host).
    kept.pop("PYTEST_CURRENT_TEST", None)
    return {**kept, **KERNEL_ENVIRONMENT, "IPYTHONDIR": ipython_folder}


def _folders(course: Path) -> tuple[tuple[str, str], ...]:
    """Return (regex, replacement) pairs for this machine's folders that appear in messages. Package
    folders come first, because they may be inside other folders."""
    packages = sysconfig.get_path("purelib")
    return ((re.escape(packages), "site-packages"), (re.escape(f"{course}/"), ""))


def volatile_patterns(course: Path) -> dict[str, str]:
    """Map regexes to replacements for all text that may differ between two runs of a notebook."""
    return dict((*_folders(course), *PLACES, *TIMINGS))


def _rewrite_output(output: Any, patterns: dict[str, str]) -> Any:
    """Return `output` with the replacements made in all its texts but not in its pictures."""
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
    """Move a cell's printed text before its result or error, and join adjacent pieces of text.

    C code's output reaches the notebook through a pipe, so it may arrive after a later Python
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
    """Return a cell's outputs in the form in which they are stored, without this machine's paths
    and without stderr.

    stderr contains progress bars and library warnings, which differ between runs and machines.
    """
    kept = [out for out in outputs if out.get("name") != "stderr"]
    return _rewrite_output(_in_order(kept), dict((*_folders(course), *PLACES)))


def comparable(outputs: list[Any], course: Path) -> str:
    """Return the outputs as text that is equal for equivalent runs of a cell.

    Printed text precedes all pictures, because their order varies when C code prints.
    """
    ordered = _in_order(sorted(outputs, key=_is_stream))
    return json.dumps(_rewrite_output(ordered, volatile_patterns(course)), sort_keys=True)
