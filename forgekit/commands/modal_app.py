"""Run the suites on a GPU rented from Modal; needs the extra `remote` and a Modal account.

    modal run forgekit/commands/modal_app.py --suite smoke --out results.json
    FORGEKIT_MODAL_GPU=H200 modal run forgekit/commands/modal_app.py --suite short --peers torch

The program accepts the options that `forgekit bench --help` lists. It measures remotely, but writes
reports, files and comparisons locally. Each run costs money: the suite `smoke` uses a GPU for a
minute or two.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import TYPE_CHECKING

import modal

if TYPE_CHECKING:
    from forgekit.benching.suites.running import CaseOutcome, Settings
    from forgekit.benching.suites.suite import Case

GPU = os.environ.get("FORGEKIT_MODAL_GPU", "H100")
_HOUR_S = 3600


def _image() -> modal.Image:
    """Return a container image with this Python version, forgekit's requirements, gcc for
    torch.compile, and forgekit's sources."""
    image = modal.Image.debian_slim(f"{sys.version_info.major}.{sys.version_info.minor}")
    if not modal.is_local():
        return image  # inside the container, the image is complete
    needed = [text for text in metadata.requires("forgekit") or [] if "extra ==" not in text]
    return image.apt_install("gcc").pip_install(*needed).add_local_python_source("forgekit")


app = modal.App("forgekit-bench")


@app.function(image=_image(), gpu=GPU, timeout=_HOUR_S)
def measure(cases: list[Case], settings: Settings) -> Iterator[tuple[int, CaseOutcome]]:
    """Run `run_cases` remotely; yield (index, result) of each case, in order."""
    from forgekit.benching.suites.running import run_cases

    yield from run_cases(cases, settings)


@app.local_entrypoint()
def main(*arguments: str) -> None:
    """Run `forgekit bench` with these options, but measure remotely."""
    from forgekit.commands.bench import bench
    from forgekit.errors import ForgekitError

    try:
        status = bench.main(list(arguments), obj=measure.remote_gen, standalone_mode=False)
    except ForgekitError as error:
        sys.exit(f"forgekit: {error}")
    if status:
        sys.exit(status)
