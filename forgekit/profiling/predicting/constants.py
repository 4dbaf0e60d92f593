"""Read and write files with a GPU's constants, which are measured or derived from a data sheet."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from forgekit.errors import brief, usage_error
from forgekit.profiling.gpus import DEFAULT, GPUS, Gpu, gpu_or_default
from forgekit.profiling.predicting.model import Constants

_NAMES = tuple(f.name for f in fields(Constants))


@dataclass(frozen=True)
class Calibration:
    """The constants for predicted times on a GPU.

    gpu: the GPU's name. measured: a description of the measurement, with its machine and date; ""
    if the constants are derived from the data sheet. factors: maps a bound, or "all", to the factor
    within which nine of ten predictions match the measured time.
    """

    gpu: str
    constants: Constants
    measured: str
    factors: Mapping[str, float]


def calibration(gpu: str | Gpu | None = None) -> Calibration:
    """Return the calibration for a GPU in `forgekit.profiling.gpus`, or the one in a file written
    by `forgekit calibrate`.

    A GPU without a file in the folder `gpus` gets the constants of an H200, scaled to the
    bandwidth, multiprocessors, clock and L2 in its data sheet.

    Raises:
        UsageError: the GPU is unknown, or the file cannot be read or is not a calibration.
    """
    if isinstance(gpu, str) and gpu.endswith(".toml"):
        try:
            text = Path(gpu).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            got = f"{brief(gpu)} ({getattr(error, 'strerror', None) or 'not UTF-8'})"
            raise usage_error(
                "gpu", got, "a file written by `forgekit calibrate`", "check the path"
            ) from None
        return _read(text, gpu)
    chosen = gpu_or_default(gpu)
    own = resources.files(__package__).joinpath("gpus", f"{chosen.name.replace(' ', '_')}.toml")
    if own.is_file():
        return _read(own.read_text("utf-8"), own.name)
    return _scaled(chosen)


def as_toml(found: Calibration) -> str:
    """Return a calibration in TOML format."""
    lines = [
        "# Constants of the time model; forgekit/profiling/predicting/model.py explains them.",
        f'gpu = "{found.gpu}"',
        f'measured = "{found.measured}"',
        "",
        "# Nine of ten predictions with this bound are within this factor.",
        "[factors]",
        *(f"{name} = {value:.4g}" for name, value in found.factors.items()),
        "",
        "[constants]",
        *(f"{name} = {value:.5g}" for name, value in asdict(found.constants).items()),
    ]
    return "\n".join(lines) + "\n"


def _read(text: str, name: str) -> Calibration:
    try:
        found: dict[str, Any] = tomllib.loads(text)
        numbers: dict[str, Any] = {key: float(found["constants"][key]) for key in _NAMES}
        numbers["multiprocessors"] = int(numbers["multiprocessors"])
        factors = {str(k): float(v) for k, v in found["factors"].items()}
        chosen = *numbers.values(), *factors.values(), factors["all"]
        if not all(0 < number < math.inf for number in chosen):
            raise ValueError("a number that is not positive")
        return Calibration(str(found["gpu"]), Constants(**numbers), str(found["measured"]), factors)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        needed = "a file written by `forgekit calibrate`"
        got = f"{brief(name)}, which contains an error: {brief(str(error))}"
        raise usage_error("gpu", got, needed, "calibrate again, or name a GPU") from None


def _scaled(gpu: Gpu) -> Calibration:
    known, base = calibration(DEFAULT), GPUS[DEFAULT]
    c = known.constants
    share = gpu.multiprocessors / c.multiprocessors
    lanes = gpu.fp32_lanes or 128
    clock = gpu.fp32_peak / (2 * lanes * gpu.multiprocessors) / 1e9 if gpu.fp32_peak else c.clock
    memory = gpu.bandwidth / base.bandwidth
    l2 = (gpu.l2_bytes or base.l2_bytes or 1) / (base.l2_bytes or 1)
    faster = clock / c.clock
    changed = replace(
        c, multiprocessors=gpu.multiprocessors, clock=clock, fp32=lanes / 32,
        dram=c.dram * memory, l2=c.l2 * share * faster, l2_mb=c.l2_mb * l2,
        blocks=c.blocks * share * faster, cluster_blocks=c.cluster_blocks * share * faster,
        atomics=c.atomics * faster, latency=c.latency * faster, l2_latency=c.l2_latency * faster,
    )  # fmt: skip
    return Calibration(gpu.name, changed, "", known.factors)
