"""profile(): count the cost of each Python line in a kernel on the virtual GPU."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from forgekit.arguments import checked, require_one_of
from forgekit.compiling.replay import bind
from forgekit.profiling.gpus import Gpu, gpu_or_default
from forgekit.profiling.metrics import GLOBAL_KINDS, SHARED_KINDS, metric
from forgekit.profiling.pictures import Pictures, show
from forgekit.profiling.predicting.predicted import PredictedTime, predicted_time
from forgekit.profiling.predictions import take, take_time
from forgekit.profiling.profile_data import ProfileData
from forgekit.profiling.profiled_lines import ProfiledLine, launches_of, summed
from forgekit.profiling.table import Comparison, as_text
from forgekit.show import Shown
from forgekit.tracing.recordings import Call, recorded, sampled
from forgekit.tracing.source_lines import is_meant
from forgekit.tracing.warp_trace import FIRST_TIMES, BlockTrace, first_accesses

if TYPE_CHECKING:
    from forgekit.compiling.compiled import CompiledKernel
    from forgekit.vgpu import Recording

_FIRST = functools.partial(BlockTrace, 0, FIRST_TIMES)


@dataclass(eq=False, repr=False)
class Profile(ProfileData, Shown):
    """The cost of a function's kernels, by source line; a notebook shows it as a table.

    `p["global_load_sectors"]`, `p.global_load_sectors` and Nsight Compute's name,
    `p["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]`, return the number summed over all
    launches. `Profile.metrics` lists the metrics.

    Attributes:
        name: the host function's name.
        launches: the launches of kernels, in order, each with its counts.
        lines: the displayed source lines, summed over launches; in source order unless sorted.
        gpu: the GPU whose bandwidth determines the minimum time.
        predicted: the predictions that `fk.predict` recorded for this profile, with their answers.
        first_accesses: maps a line and a kind of access, such as "global_load", to the first
            accesses by the first warps of block 0; empty for a script's profile.
        call: the kernel and copies of its arguments, made before the call; None for a script's
            profile.
    """

    # -- other views of a profile ------------------------------------------------------------------
    @checked()
    def sort(self, by: str = "warp_instructions") -> Profile:
        """Sort the lines by a metric, largest first; "line" restores the source order.

        Raises:
            UsageError: the metric is unknown.
        """
        if by == "line":
            ordered = sorted(self.lines, key=lambda line: line.key)
        else:
            name = metric(by).name
            ordered = sorted(self.lines, key=lambda line: (-line[name], line.key))
        return replace(self, lines=tuple(ordered))

    @checked()
    def filter(
        self,
        *,
        line: int | str | None = None,
        kind: str | None = None,
        kernel: str | None = None,
        at_least: Mapping[str, float] | None = None,
    ) -> Profile:
        """Return a profile of selected lines or launches, whose totals cover only these launches.

        Args:
            line: a line number or part of a line's text.
            kind: "global", "shared" or a single kind, such as "global_load", to select lines with
                such accesses.
            kernel: the kernel whose launches to select. at_least: maps each metric to the minimum
                value for a displayed line.

        Raises:
            UsageError: the metric, kind or kernel is unknown.
        """
        launches, lines = self.launches, self.lines
        if kernel is not None:
            launches = tuple(x for x in self.launches if x.kernel == kernel)
            known = {x.kernel: None for x in self.launches}
            require_one_of("kernel", kernel, tuple(known))
            mine = {x.key: x for x in summed(launches)}
            lines = tuple(mine[x.key] for x in lines if x.key in mine)
        if kind is not None:
            require_one_of("kind", kind, ("global", "shared", *GLOBAL_KINDS, *SHARED_KINDS))
            lines = tuple(x for x in lines if any(_is(k, kind) for k in x.accesses))
        if line is not None:
            lines = tuple(x for x in lines if is_meant(line, x.source))
        for name, least in (at_least or {}).items():
            lines = tuple(x for x in lines if x[name] >= least)
        return replace(self, lines=lines, launches=launches)

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as dicts, lists, numbers and strings, for JSON."""
        return {
            "name": self.name,
            "gpu": self.gpu.name,
            "bound_s": self.bound_s(),
            "total": self.total.to_dict(),
            "lines": [line.to_dict() for line in self.lines],
            "launches": [
                {"kernel": x.kernel, "grid": list(x.grid), "block": list(x.block),
                 "shared_bytes": x.shared_bytes,
                 "sample": vars(x.sample) if x.sample is not None else None,
                 "total": x.counts.to_dict(),
                 "tensors": [{**vars(t), "shape": list(t.shape)} for t in x.tensors.values()]}
                for x in self.launches
            ],
            "findings": [
                {"line": f.line.number or None, "kind": f.kind, "share": f.share,
                 "reason": f.reason}
                for f in self.findings
            ],
        }  # fmt: skip

    @checked()
    def compare(self, other: Profile) -> Comparison:
        """Compare this profile with another in one table, which pairs lines with the same kind of
        access.
        """
        return Comparison(self, other)

    @checked()
    def time(self, gpu: str | Gpu | None = None) -> PredictedTime:
        """Predict the time of the launches on a GPU with cold caches.

        The model in `forgekit.profiling.predicting.model` computes the time from the counts;
        `book/virtual_gpu.md` compares predicted times with times measured on an H200.

        Args:
            gpu: a name in `forgekit.profiling.gpus.GPUS`, or a file written by `forgekit
                calibrate`; by default the profile's GPU.

        Raises:
            UsageError: the GPU is unknown or the file cannot be read.
        """
        launches = self.launches
        if self.call is not None and any(launch.pace is None for launch in launches):
            kernel, args = self.call
            call = recorded(kernel, args, shares=True)
            shown = {launch.kernel for launch in launches}
            again = launches_of(call.recording, pace=True)
            launches = tuple(launch for launch in again if launch.kernel in shown)
        paces = [launch.pace for launch in launches if launch.pace is not None]
        found = predicted_time(self.name, paces, self.gpu if gpu is None else gpu)
        take_time(found)
        return found

    def show(self, line: int | str | ProfiledLine | None = None, **options: Any) -> Pictures:
        """Draw a line's memory accesses: the sectors of global memory and the banks of shared
        memory.

        Args:
            line: a line number, part of a line's text, or an element of `lines`; by default the
                worst line.
            options: `block`, `warp` and `index`, as for `forgekit.coalescing` and `forgekit.banks`,
                which draw the pictures.

        Raises:
            UsageError: the line is unknown or has no memory accesses, or no line stands out.
        """
        return show(self, line, options)

    # -- display ---------------------------------------------------------------------------
    @property
    def summary(self) -> str:
        return as_text(self)


@checked()
def profile(
    kernel: CompiledKernel, *args: Any, gpu: str | Gpu | None = None, blocks: int | None = None
) -> Profile:
    """Run a kernel on the virtual GPU and count the cost of each source line.

    The kernel runs on copies, so your tensors do not change, and its printed output is hidden.
    Counts are exact and the same in every run; `book/virtual_gpu.md` compares them with a GPU's
    counters. Counting roughly doubles the time of a run.

    Args:
        kernel: a result of `forgekit.compile`, for a GPU or the virtual GPU.
        args: the kernel's arguments, as in a call.
        gpu: the name of the GPU (in `forgekit.profiling.gpus.GPUS`) whose bandwidth determines the
            minimum time; by default this machine's GPU, or an H200.
        blocks: the number of blocks to run per launch, at least 8, if running all blocks would take
            too long: the first, the last, and one from each of the equal intervals between them.
            The counts are then estimates.

    Raises:
        UsageError: the kernel is not compiled, the arguments do not match its parameters, the GPU
            is unknown, or `blocks` is below 8.
        KernelError: the virtual GPU stopped the kernel, so its counts would be meaningless.
    """
    found = count(kernel, args, gpu, blocks)
    found.predicted = take(found.total)
    return found


def count(
    kernel: CompiledKernel, args: tuple[Any, ...], gpu: str | Gpu | None = None,
    blocks: int | None = None,
) -> Profile:  # fmt: skip
    """Return the same profile as `profile`, but do not answer predictions."""
    args = bind("profile", kernel, args)
    chosen = gpu_or_default(gpu)
    if blocks is not None:
        _, recording = sampled(kernel, args, blocks, _FIRST)
        found = of_recording(kernel.name, recording, chosen, pace=True)
        return replace(found, first_accesses=first_accesses(recording.read(_FIRST)))
    call = recorded(kernel, args, _FIRST)
    return replace(of_call(call, chosen), first_accesses=first_accesses(call.read(_FIRST)))


def of_call(call: Call, gpu: Gpu | None = None) -> Profile:
    """Return the profile of a recorded call.

    Raises:
        KernelError: the virtual GPU stopped the kernel.
    """
    call.result()
    found = of_recording(call.kernel.name, call.recording, gpu)
    return replace(found, call=(call.kernel, call.before))


def of_recording(
    name: str, recording: Recording, gpu: Gpu | None = None, *, pace: bool = False
) -> Profile:
    """Return the profile of all recorded launches. pace: as for `launches_of`."""
    launches = launches_of(recording, pace=pace)
    return Profile(name, launches, gpu_or_default(gpu), summed(launches))


def _is(kind: str, wanted: str) -> bool:
    return kind == wanted or kind.startswith(wanted + "_")
